//! Tasks, the edges between them, and which of their blocks wait for which.

use std::collections::HashMap;

use crate::block_box::BlockBox;
use crate::{BlockGrid, BlockIndex, CoreError, TaskIndex, TaskSpec, MAX_DIMS};

/// Tasks and edges, with everything about blocks computed from regions when asked.
#[derive(Clone, Debug)]
pub struct TaskGraph {
    pub(crate) tasks: Vec<TaskNode>,
    edges: Vec<(TaskIndex, TaskIndex)>,
}

/// A task in its graph.
#[derive(Clone, Debug)]
pub(crate) struct TaskNode {
    pub(crate) spec: TaskSpec,
    pub(crate) grid: BlockGrid,
    pub(crate) upstream: Vec<TaskIndex>,
    pub(crate) downstream: Vec<TaskIndex>,
}

impl TaskGraph {
    /// A graph of `specs` and edges `(upstream, downstream)`; an edge given twice counts once.
    ///
    /// # Errors
    /// [`CoreError::Validation`] below `tasks[i]` for bad regions or tasks of an edge whose ranks differ,
    /// [`CoreError::Pipeline`] for a duplicate id, an edge to no task or a cycle.
    pub fn new(specs: Vec<TaskSpec>, edges: &[(TaskIndex, TaskIndex)]) -> Result<Self, CoreError> {
        let mut tasks = Vec::with_capacity(specs.len());
        let mut seen = HashMap::new();
        for (index, spec) in specs.into_iter().enumerate() {
            let grid = BlockGrid::new(&spec).map_err(|e| e.under(&format!("tasks[{index}]")))?;
            if let Some(first) = seen.insert(spec.id.clone(), index) {
                let message = format!(
                    "two tasks have the id '{}' (tasks[{first}] and tasks[{index}]); give each its own",
                    spec.id
                );
                return Err(CoreError::Pipeline { message });
            }
            tasks.push(TaskNode {
                spec,
                grid,
                upstream: Vec::new(),
                downstream: Vec::new(),
            });
        }
        let mut graph = Self {
            tasks,
            edges: Vec::new(),
        };
        for &edge in edges {
            graph.add_edge(edge)?;
        }
        for node in &mut graph.tasks {
            node.upstream.sort_unstable();
            node.downstream.sort_unstable();
        }
        graph.refuse_cycle()?;
        Ok(graph)
    }

    fn add_edge(
        &mut self,
        (upstream, downstream): (TaskIndex, TaskIndex),
    ) -> Result<(), CoreError> {
        for end in [upstream, downstream] {
            if end.at() >= self.tasks.len() {
                let message = format!(
                    "an edge names task {end}, but the pipeline has {} tasks",
                    self.tasks.len()
                );
                return Err(CoreError::Pipeline { message });
            }
        }
        if self.edges.contains(&(upstream, downstream)) {
            return Ok(());
        }
        let dims = self.tasks[upstream.at()].grid.dims();
        let node = &mut self.tasks[downstream.at()];
        if node.grid.dims() != dims {
            let message = format!(
                "must have {dims} axes like its upstream task, not {}",
                node.grid.dims()
            );
            let path = format!("tasks[{downstream}].totalRoi");
            return Err(CoreError::validation(&path, node.spec.total_roi, message));
        }
        node.upstream.push(upstream);
        self.tasks[upstream.at()].downstream.push(downstream);
        self.edges.push((upstream, downstream));
        Ok(())
    }

    /// Number of tasks.
    pub fn len(&self) -> usize {
        self.tasks.len()
    }

    /// True without any task.
    pub fn is_empty(&self) -> bool {
        self.tasks.is_empty()
    }

    /// Positions of all tasks, in the order given.
    pub fn task_indices(&self) -> impl DoubleEndedIterator<Item = TaskIndex> {
        (0..self.tasks.len() as u32).map(TaskIndex)
    }

    /// The task with an id.
    pub fn task(&self, id: &str) -> Option<TaskIndex> {
        self.task_indices()
            .find(|task| self.tasks[task.at()].spec.id == id)
    }

    /// A task's description.
    ///
    /// # Errors
    /// [`CoreError::UnknownTask`].
    pub fn spec(&self, task: TaskIndex) -> Result<&TaskSpec, CoreError> {
        Ok(&self.node(task)?.spec)
    }

    /// A task's grid.
    ///
    /// # Errors
    /// [`CoreError::UnknownTask`].
    pub fn grid(&self, task: TaskIndex) -> Result<&BlockGrid, CoreError> {
        Ok(&self.node(task)?.grid)
    }

    /// Tasks that a task reads from directly, by position.
    ///
    /// # Errors
    /// [`CoreError::UnknownTask`].
    pub fn upstream_tasks(&self, task: TaskIndex) -> Result<&[TaskIndex], CoreError> {
        Ok(&self.node(task)?.upstream)
    }

    /// Tasks that read from a task directly, by position.
    ///
    /// # Errors
    /// [`CoreError::UnknownTask`].
    pub fn downstream_tasks(&self, task: TaskIndex) -> Result<&[TaskIndex], CoreError> {
        Ok(&self.node(task)?.downstream)
    }

    /// Edges `(upstream, downstream)` in the order given, each once.
    pub fn edges(&self) -> &[(TaskIndex, TaskIndex)] {
        &self.edges
    }

    pub(crate) fn node(&self, task: TaskIndex) -> Result<&TaskNode, CoreError> {
        let count = self.tasks.len();
        self.tasks.get(task.at()).ok_or(CoreError::UnknownTask {
            task: task.0,
            count,
        })
    }

    pub(crate) fn node_of_block(
        &self,
        task: TaskIndex,
        block: BlockIndex,
    ) -> Result<&TaskNode, CoreError> {
        let node = self.node(task)?;
        if !node.grid.contains(block) {
            let (task_id, count) = (node.spec.id.clone(), node.grid.count());
            return Err(CoreError::UnknownBlock {
                task_id,
                block,
                count,
            });
        }
        Ok(node)
    }

    /// Blocks that a block waits for directly: its own task's first, then those of upstream tasks by position of the
    /// task; by ascending number in each.
    ///
    /// # Errors
    /// [`CoreError::UnknownTask`], [`CoreError::UnknownBlock`].
    pub fn upstream(
        &self,
        task: TaskIndex,
        block: BlockIndex,
    ) -> Result<Vec<(TaskIndex, BlockIndex)>, CoreError> {
        let node = self.node_of_block(task, block)?;
        let own = node.grid.upstream(block);
        let entries = node.grid.entries(block.0);
        let mut result: Vec<_> = own.into_iter().map(|block| (task, block)).collect();
        for &other in &node.upstream {
            let grid = &self.tasks[other.at()].grid;
            let blocks = writers_box(grid, &node.grid, &entries).by_number(grid);
            result.extend(blocks.into_iter().map(|block| (other, block)));
        }
        Ok(result)
    }

    /// Blocks that wait for a block directly: its own task's first, then those of downstream tasks by position of the
    /// task; by ascending number in each. The inverse of [`upstream`](Self::upstream).
    ///
    /// # Errors
    /// [`CoreError::UnknownTask`], [`CoreError::UnknownBlock`].
    pub fn downstream(
        &self,
        task: TaskIndex,
        block: BlockIndex,
    ) -> Result<Vec<(TaskIndex, BlockIndex)>, CoreError> {
        let node = self.node_of_block(task, block)?;
        let own = node.grid.downstream(block);
        let entries = node.grid.entries(block.0);
        let mut result: Vec<_> = own.into_iter().map(|block| (task, block)).collect();
        for &other in &node.downstream {
            let grid = &self.tasks[other.at()].grid;
            let blocks = readers_box(&node.grid, grid, &entries).by_number(grid);
            result.extend(blocks.into_iter().map(|block| (other, block)));
        }
        Ok(result)
    }
}

/// Blocks of `upstream` whose write region meets the read region of a block of `downstream`.
#[inline]
pub(crate) fn writers_box(
    upstream: &BlockGrid,
    downstream: &BlockGrid,
    entries: &[u64; MAX_DIMS],
) -> BlockBox {
    BlockBox::from_fn(upstream.dims(), |axis| {
        let (begin, end) = downstream.axes[axis].read_interval(entries[axis]);
        upstream.axes[axis].writers_of(begin, end)
    })
}

/// Blocks of `downstream` whose read region meets the write region of a block of `upstream`.
#[inline]
pub(crate) fn readers_box(
    upstream: &BlockGrid,
    downstream: &BlockGrid,
    entries: &[u64; MAX_DIMS],
) -> BlockBox {
    BlockBox::from_fn(downstream.dims(), |axis| {
        let (begin, end) = upstream.axes[axis].write_interval(entries[axis]);
        downstream.axes[axis].readers_of(begin, end)
    })
}
