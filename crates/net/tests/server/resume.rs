//! Workers on other machines that lose their connection and come back in time.

use bellis_net::message::*;

use crate::peer::Peer;
use crate::rig::Rig;
use crate::work;

fn remote(blocks: i64) -> Rig {
    Rig::with(blocks, |plan| plan.options.all_remote = true)
}

#[test]
fn a_worker_comes_back_with_what_it_has_and_keeps_its_number() {
    let rig = remote(10);
    let (mut before, welcome) = Peer::welcome(&rig);
    before.say(&WorkerMessage::Acquire { n: 1 });
    let first = before.hear_grant();
    before.release(&first);
    let granted = before.hear_grant();
    before.hang_up();
    drop(before);

    let mut after = Peer::stranger(&rig);
    // It lost the last one on the way.
    let held = BlockList(granted[..granted.len() - 1].to_vec());
    after.say(&WorkerMessage::Resume(Resume {
        token: welcome.token,
        held: held.clone(),
    }));
    let DriverMessage::Welcome(again) = after.hear() else {
        panic!("not welcome")
    };
    assert_eq!((again.worker, again.task), (welcome.worker, None));
    assert_eq!(again.received, 1);
    after.say(&WorkerMessage::Acquire { n: 1 });
    after.release(&held.0);
    after.say(&WorkerMessage::Goodbye);
    let ran = work(&rig.client(), |_| false);
    assert!(ran.contains(granted.last().unwrap()));
    let counters = rig.finish().snapshot.unwrap().tasks[0];
    assert_eq!((counters.completed, counters.failed_attempts), (10, 0));
}

#[test]
fn a_token_that_nobody_gave_out_is_forgotten() {
    let rig = remote(3);
    let mut peer = Peer::stranger(&rig);
    peer.say(&WorkerMessage::Resume(Resume {
        token: ResumeToken([1; 16]),
        held: BlockList(vec![0, 1, 2]),
    }));
    let reason = ShutdownReason::Forgotten;
    assert_eq!(peer.hear(), DriverMessage::Shutdown { reason });
    drop(peer);
    assert_eq!(work(&rig.client(), |_| false).len(), 3);
    rig.finish();
}

#[test]
fn the_old_connection_is_closed_when_the_new_one_comes_first() {
    let rig = remote(3);
    let (mut before, welcome) = Peer::welcome(&rig);
    let mut after = Peer::stranger(&rig);
    after.say(&WorkerMessage::Resume(Resume {
        token: welcome.token,
        held: BlockList(vec![]),
    }));
    assert!(matches!(after.hear(), DriverMessage::Welcome(_)));
    let closing = DriverMessage::Closing {
        reason: CloseReason::Replaced,
    };
    assert_eq!(before.hear_out(), [closing]);
    after.say(&WorkerMessage::Goodbye);
    assert_eq!(work(&rig.client(), |_| false).len(), 3);
    rig.finish();
}

#[test]
fn a_local_worker_has_nothing_to_come_back_to() {
    let rig = Rig::new(3);
    let (before, welcome) = Peer::welcome(&rig);
    before.hang_up();
    let mut after = Peer::stranger(&rig);
    after.say(&WorkerMessage::Resume(Resume {
        token: welcome.token,
        held: BlockList(vec![]),
    }));
    let reason = ShutdownReason::Forgotten;
    assert_eq!(after.hear(), DriverMessage::Shutdown { reason });
    drop(after);
    assert_eq!(work(&rig.client(), |_| false).len(), 3);
    rig.finish();
}
