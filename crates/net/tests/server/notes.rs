//! A worker that dies before its results are sent, and what it wrote down.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Arc;
use std::thread;

use bellis_core::BlockIndex;
use bellis_net::{Client, SharedWords, Take, NOTE_WORDS};

use crate::rig::{Rig, PATIENCE};
use crate::work;

fn page() -> Arc<dyn SharedWords> {
    let words: Vec<AtomicU64> = (0..NOTE_WORDS).map(|_| AtomicU64::new(0)).collect();
    Arc::new(words)
}

/// A way to the server on which nothing of the worker's arrives any more once it is told so, as if the
/// worker had died before it sent it.
struct Way {
    port: u16,
    mute: Arc<AtomicBool>,
    server: std::sync::mpsc::Receiver<TcpStream>,
}

fn way(to: u16) -> Way {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let mute = Arc::new(AtomicBool::new(false));
    let (tell, server) = std::sync::mpsc::channel();
    let silent = Arc::clone(&mute);
    thread::spawn(move || {
        let (mut client, _) = listener.accept().unwrap();
        let mut server = TcpStream::connect(("127.0.0.1", to)).unwrap();
        tell.send(server.try_clone().unwrap()).unwrap();
        let (mut down_from, mut down_to) =
            (server.try_clone().unwrap(), client.try_clone().unwrap());
        thread::spawn(move || std::io::copy(&mut down_from, &mut down_to));
        let mut buffer = [0; 4096];
        while let Ok(bytes @ 1..) = client.read(&mut buffer) {
            if !silent.load(Ordering::SeqCst) && server.write_all(&buffer[..bytes]).is_err() {
                break;
            }
        }
    });
    Way { port, mute, server }
}

fn take(client: &Client) -> u64 {
    match client.take_timeout(PATIENCE) {
        Take::Block(block) => block,
        other => panic!("{other:?}"),
    }
}

#[test]
fn results_that_were_never_sent_count_and_the_running_block_is_to_blame() {
    let notes = page();
    let rig = Rig::with(100, |plan| plan.notes = Some(Arc::clone(&notes)));
    let way = way(rig.port);
    let mut options = rig.options();
    options.port = way.port;
    options.notes = Some(notes);
    let client = Client::connect(options).unwrap();
    let first = take(&client);
    client.finish(first, Ok(())).unwrap();
    let mut ran = vec![first];
    // Short blocks: it gets many at once, of which the driver won't hear.
    let second = take(&client);
    way.mute.store(true, Ordering::SeqCst);
    client.finish(second, Ok(())).unwrap();
    ran.push(second);
    let running = loop {
        let block = take(&client);
        if ran.len() == 8 {
            break block;
        }
        client.finish(block, Ok(())).unwrap();
        ran.push(block);
    };
    way.server.recv().unwrap().shutdown(Shutdown::Both).unwrap();
    let failure = rig.hear_failure();
    assert_eq!(failure.block, Some(BlockIndex(running)));
    let again = work(&rig.client(), |_| false);
    assert!(again.contains(&running));
    assert!(ran.iter().all(|block| !again.contains(block)), "{again:?}");
    let counters = rig.finish().snapshot.unwrap().tasks[0];
    assert_eq!((counters.completed, counters.failed_attempts), (100, 1));
}

#[test]
fn notes_of_another_worker_mean_nothing() {
    let notes = page();
    let rig = Rig::with(3, |plan| plan.notes = Some(Arc::clone(&notes)));
    let mut options = rig.options();
    options.notes = Some(notes);
    let first = Client::connect(options).unwrap();
    let block = take(&first);
    // This one has the same notes, as a process that a worker started: they stay the first one's.
    let mut options = rig.options();
    options.notes = Some(page());
    let other = Client::connect(options).unwrap();
    let ran = work(&other, |_| false);
    assert_eq!(ran.len(), 2);
    first.finish(block, Ok(())).unwrap();
    first.close();
    assert_eq!(rig.finish().snapshot.unwrap().tasks[0].completed, 3);
}
