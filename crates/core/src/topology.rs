//! Orders of tasks: the order of display, and cycles refused.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::{CoreError, TaskGraph, TaskIndex};

impl TaskGraph {
    /// The order in which tasks are shown: again and again the alphabetically smallest id whose upstream tasks are
    /// all out. It is a topological order.
    pub fn display_order(&self) -> Vec<TaskIndex> {
        let mut waiting: Vec<usize> = self.tasks.iter().map(|node| node.upstream.len()).collect();
        let entry = |task: TaskIndex| Reverse((self.tasks[task.at()].spec.id.as_str(), task));
        let mut ready: BinaryHeap<_> = self
            .task_indices()
            .filter(|task| waiting[task.at()] == 0)
            .map(entry)
            .collect();
        let mut order = Vec::with_capacity(self.len());
        while let Some(Reverse((_, task))) = ready.pop() {
            order.push(task);
            for &next in &self.tasks[task.at()].downstream {
                waiting[next.at()] -= 1;
                if waiting[next.at()] == 0 {
                    ready.push(entry(next));
                }
            }
        }
        order
    }

    /// A task and all that read from it directly or through others, by position.
    pub fn transitive_downstream(&self, task: TaskIndex) -> Vec<TaskIndex> {
        let mut reached = vec![false; self.len()];
        let mut open: Vec<TaskIndex> = self.task_indices().filter(|&t| t == task).collect();
        while let Some(task) = open.pop() {
            if !std::mem::replace(&mut reached[task.at()], true) {
                open.extend_from_slice(&self.tasks[task.at()].downstream);
            }
        }
        self.task_indices()
            .filter(|task| reached[task.at()])
            .collect()
    }

    pub(crate) fn refuse_cycle(&self) -> Result<(), CoreError> {
        let order = self.display_order();
        if order.len() == self.len() {
            return Ok(());
        }
        let mut in_order = vec![false; self.len()];
        for task in order {
            in_order[task.at()] = true;
        }
        // What is left out has an upstream task that is left out as well; walking up must meet itself.
        let mut path: Vec<TaskIndex> = self
            .task_indices()
            .find(|task| !in_order[task.at()])
            .into_iter()
            .collect();
        let mut start = 0;
        while let Some(next) = path.last().and_then(|task| {
            self.tasks[task.at()]
                .upstream
                .iter()
                .find(|up| !in_order[up.at()])
                .copied()
        }) {
            if let Some(position) = path.iter().position(|&task| task == next) {
                start = position;
                break;
            }
            path.push(next);
        }
        let mut cycle: Vec<TaskIndex> = path[start..].iter().rev().copied().collect();
        let first = cycle.iter().min_by_key(|task| task.0).copied();
        let turn = cycle
            .iter()
            .position(|&task| Some(task) == first)
            .unwrap_or(0);
        cycle.rotate_left(turn);
        let name = |task: &TaskIndex| self.tasks[task.at()].spec.id.as_str();
        let mut names: Vec<&str> = cycle.iter().map(name).collect();
        names.extend(names.first().copied());
        let message = format!("the pipeline has a cycle: {}", names.join(" -> "));
        Err(CoreError::Pipeline { message })
    }
}

#[cfg(test)]
mod tests {
    use crate::{CoreError, Roi, TaskGraph, TaskIndex, TaskSpec};

    fn graph(ids: &[&str], edges: &[(u32, u32)]) -> Result<TaskGraph, CoreError> {
        let roi = Roi::from_slices(&[0], &[4]).expect("valid");
        let specs = ids
            .iter()
            .map(|&id| TaskSpec::new(id, roi, roi, roi))
            .collect();
        let edges: Vec<_> = edges
            .iter()
            .map(|&(a, b)| (TaskIndex(a), TaskIndex(b)))
            .collect();
        TaskGraph::new(specs, &edges)
    }

    fn shown(graph: &TaskGraph) -> String {
        let order = graph.display_order();
        order
            .iter()
            .map(|&task| graph.spec(task).expect("in graph").id.as_str())
            .collect()
    }

    #[test]
    fn shows_the_smallest_id_whose_upstreams_are_out() {
        assert_eq!(
            shown(&graph(&["D", "C", "B", "A"], &[(3, 2), (1, 0)]).expect("valid")),
            "ABCD"
        );
        assert_eq!(
            shown(&graph(&["b", "a", "c"], &[(0, 1)]).expect("valid")),
            "bac"
        );
        assert_eq!(shown(&graph(&["Z", "a", "é"], &[]).expect("valid")), "Zaé");
        assert_eq!(shown(&graph(&[], &[]).expect("valid")), "");
    }

    #[test]
    fn a_cycle_is_refused_by_name() {
        let message = |edges: &[(u32, u32)]| match graph(&["a", "b", "c", "d"], edges) {
            Err(CoreError::Pipeline { message }) => message,
            other => panic!("not refused: {other:?}"),
        };
        assert_eq!(message(&[(1, 1)]), "the pipeline has a cycle: b -> b");
        let three = message(&[(0, 1), (1, 2), (2, 3), (3, 1)]);
        assert!(three.contains("b -> c -> d -> b"), "{three}");
    }

    #[test]
    fn duplicate_ids_and_unknown_ends_are_refused() {
        let duplicate = graph(&["a", "b", "a"], &[]).expect_err("duplicate");
        assert!(
            duplicate
                .to_string()
                .contains("'a' (tasks[0] and tasks[2])"),
            "{duplicate}"
        );
        assert_eq!(duplicate.code(), "ERR_BELLIS_PIPELINE");
        assert!(graph(&["a"], &[(0, 7)]).is_err());
    }

    #[test]
    fn an_edge_given_twice_counts_once() {
        let graph = graph(&["a", "b"], &[(0, 1), (0, 1)]).expect("valid");
        assert_eq!(graph.edges().len(), 1);
        assert_eq!(shown(&graph), "ab");
    }

    #[test]
    fn transitive_downstream_includes_the_task() {
        let graph = graph(&["a", "b", "c", "d"], &[(0, 1), (1, 2)]).expect("valid");
        let reached = graph.transitive_downstream(TaskIndex(1));
        assert_eq!(reached, [TaskIndex(1), TaskIndex(2)]);
    }
}
