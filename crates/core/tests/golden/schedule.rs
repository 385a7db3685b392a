//! The exact order of hand-out and the counters after each step, with a lazy scheduler.

use bellis_core::{Scheduler, SkipMask, TaskGraph, TaskIndex, TaskInputs};
use serde_json::Value;

use crate::vectors::{big, cases, integers, spec};

#[test]
fn schedule_lines() {
    let cases = cases("schedule.jsonl");
    for case in &cases {
        check(case);
    }
    assert_eq!(cases.len(), 80);
}

fn check(case: &Value) {
    let tasks = case["tasks"].as_array().expect("a list");
    let id = |task: &Value| task["id"].as_str().expect("a name").to_owned();
    let ids: Vec<String> = tasks.iter().map(id).collect();
    let position = |name: &Value| {
        let found = ids.iter().position(|id| Some(id.as_str()) == name.as_str());
        TaskIndex(found.expect("a task of the case") as u32)
    };
    let specs = tasks.iter().map(|task| spec(&id(task), task)).collect();
    let edges: Vec<_> = case["edges"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|edge| (position(&edge[0]), position(&edge[1])))
        .collect();
    let graph = TaskGraph::new(specs, &edges).expect("a valid graph");
    let inputs = tasks
        .iter()
        .map(|task| TaskInputs {
            skip_mask: task.get("skip_mask").map(|mask| {
                SkipMask::new(
                    integers(mask)
                        .iter()
                        .map(|&cell| cell as u8)
                        .collect::<Vec<u8>>(),
                )
            }),
            ..TaskInputs::default()
        })
        .collect();
    let mut scheduler = Scheduler::new(graph, inputs).expect("a valid scheduler");
    check_counters(&scheduler, &ids, &case["start"], case, 0);
    let steps = case["steps"].as_array().expect("a list");
    for (step, line) in steps.iter().enumerate() {
        let task = position(&line[1]);
        let grid = scheduler.graph().grid(task).expect("in graph").clone();
        let block = (!line[2].is_null()).then(|| big(&line[2]));
        let index = block.map(|number| grid.by_number(number).expect("a block"));
        match line[0].as_str().expect("a name") {
            "acquire" => {
                let acquired = scheduler.acquire(task).map(|block| grid.number(block));
                assert_eq!(acquired, block, "case {} step {step}", case["case"]);
            }
            "success" => scheduler
                .release(task, index.expect("a block"))
                .expect("held"),
            "failed" => {
                scheduler.fail(task, index.expect("a block")).expect("held");
            }
            other => panic!("unknown step {other}"),
        }
        check_counters(&scheduler, &ids, &line[3], case, step);
        scheduler.check_invariants().expect("consistent");
    }
    if case["all_done"] == true {
        let mut tasks = scheduler.graph().task_indices();
        assert!(
            tasks.all(|task| scheduler.is_finished(task)),
            "case {}",
            case["case"]
        );
    }
}

fn check_counters(
    scheduler: &Scheduler,
    ids: &[String],
    expected: &Value,
    case: &Value,
    step: usize,
) {
    for (position, id) in ids.iter().enumerate() {
        let c = scheduler.counters(TaskIndex(position as u32));
        let actual = [
            c.total,
            c.ready,
            c.processing,
            c.completed,
            c.skipped,
            c.failed,
            c.orphaned,
        ];
        let expected: Vec<u64> = integers(&expected[id]).iter().map(|&n| n as u64).collect();
        assert_eq!(
            actual[..],
            expected[..],
            "task {id}, case {} step {step}",
            case["case"]
        );
    }
}
