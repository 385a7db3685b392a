//! The budget of named resources that workers of all tasks share.

use super::{RunConfig, RunError};
use crate::TaskIndex;

/// What is used of each resource, and what a worker of each task occupies.
#[derive(Debug)]
pub(super) struct Resources {
    budget: Vec<u64>,
    used: Vec<u64>,
    needs: Vec<Vec<(usize, u64)>>,
}

impl Resources {
    /// Fails when a worker of some task alone is more than the whole budget.
    pub(super) fn new(config: &RunConfig) -> Result<Resources, RunError> {
        let mut needs = Vec::with_capacity(config.tasks.len());
        for (at, task) in config.tasks.iter().enumerate() {
            let mut need = Vec::new();
            for (name, required) in task.requires.iter().filter(|(_, required)| *required > 0) {
                let found = config.resources.iter().position(|(known, _)| known == name);
                let available = found.map_or(0, |position| config.resources[position].1);
                match found {
                    Some(position) if *required <= available => need.push((position, *required)),
                    _ => {
                        return Err(RunError::Resources {
                            task: TaskIndex(at as u32),
                            name: name.clone(),
                            required: *required,
                            available,
                        })
                    }
                }
            }
            needs.push(need);
        }
        let budget: Vec<u64> = config.resources.iter().map(|(_, amount)| *amount).collect();
        let used = vec![0; budget.len()];
        Ok(Resources {
            budget,
            used,
            needs,
        })
    }

    /// Whether one more worker of the task may start.
    pub(super) fn fit(&self, task: TaskIndex) -> bool {
        self.needs[task.at()].iter().all(|(resource, need)| {
            self.used[*resource].saturating_add(*need) <= self.budget[*resource]
        })
    }

    /// Whether the two tasks compete for some resource.
    pub(super) fn overlap(&self, one: TaskIndex, other: TaskIndex) -> bool {
        self.needs[one.0 as usize].iter().any(|(resource, _)| {
            self.needs[other.at()]
                .iter()
                .any(|(others, _)| others == resource)
        })
    }

    /// A worker of the task begins to occupy its share.
    pub(super) fn take(&mut self, task: TaskIndex) {
        for (resource, need) in &self.needs[task.at()] {
            self.used[*resource] = self.used[*resource].saturating_add(*need);
        }
    }

    /// A worker of the task has ended.
    pub(super) fn give_back(&mut self, task: TaskIndex) {
        for (resource, need) in &self.needs[task.at()] {
            self.used[*resource] = self.used[*resource].saturating_sub(*need);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::TaskConfig;

    fn task(requires: &[(&str, u64)]) -> TaskConfig {
        let requires = requires
            .iter()
            .map(|(name, need)| (name.to_string(), *need))
            .collect();
        TaskConfig {
            requires,
            ..TaskConfig::default()
        }
    }

    fn config(tasks: Vec<TaskConfig>, gpu: u64) -> RunConfig {
        let mut config = RunConfig::new(tasks);
        config.resources = vec![("gpu".into(), gpu), ("disk".into(), 1)];
        config
    }

    #[test]
    fn workers_share_the_budget() {
        let tasks = vec![
            task(&[("gpu", 2)]),
            task(&[("gpu", 1)]),
            task(&[("disk", 1)]),
        ];
        let mut resources = Resources::new(&config(tasks, 3)).unwrap();
        let (two, one, disk) = (TaskIndex(0), TaskIndex(1), TaskIndex(2));
        resources.take(two);
        assert!(!resources.fit(two));
        assert!(resources.fit(one));
        resources.take(one);
        assert!(!resources.fit(one));
        assert!(resources.fit(disk));
        resources.give_back(two);
        assert!(resources.fit(two));
        assert!(resources.overlap(one, two));
        assert!(!resources.overlap(one, disk));
    }

    #[test]
    fn a_task_that_could_never_start_is_refused() {
        let refused = Resources::new(&config(vec![task(&[]), task(&[("gpu", 4)])], 3)).unwrap_err();
        assert!(matches!(
            refused,
            RunError::Resources {
                task: TaskIndex(1),
                available: 3,
                ..
            }
        ));
        let unknown = Resources::new(&config(vec![task(&[("fpga", 1)])], 3)).unwrap_err();
        assert!(matches!(unknown, RunError::Resources { available: 0, .. }));
        assert!(Resources::new(&config(vec![task(&[("fpga", 0)])], 3)).is_ok());
    }
}
