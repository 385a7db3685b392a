//! Refuses pipelines in which some block reads nothing of what an upstream task writes.

use crate::task_graph::TaskNode;
use crate::{Coordinate, CoreError, Roi, TaskGraph};

impl TaskGraph {
    /// Checks that each block reads something of what each upstream task's blocks write. A read that is covered in
    /// part, such as context at the border, is normal.
    ///
    /// # Errors
    /// [`CoreError::Uncovered`] for the first edge, in the order given, whose downstream task has such a block and
    /// doesn't allow it.
    pub fn check_covered(&self) -> Result<(), CoreError> {
        for &(upstream, downstream) in self.edges() {
            let (upstream, downstream) = (&self.tasks[upstream.at()], &self.tasks[downstream.at()]);
            if !downstream.spec.allow_uncovered {
                check_edge(upstream, downstream)?;
            }
        }
        Ok(())
    }
}

fn check_edge(upstream: &TaskNode, downstream: &TaskNode) -> Result<(), CoreError> {
    let grid = &downstream.grid;
    if grid.count() == 0 {
        return Ok(());
    }
    for axis in 0..grid.dims() {
        let geometry = &grid.axes[axis];
        let covered = geometry.readers_of_axis(&upstream.grid.axes[axis]);
        // The covered blocks are one run; the uncovered ones lie before or after it.
        let (first, end) = if covered.start > 0 {
            (0, covered.start)
        } else if covered.end < geometry.count {
            (covered.end, geometry.count)
        } else {
            continue;
        };
        let begin = geometry.read_interval(first).0;
        let end = geometry.read_interval(end - 1).1;
        let total = &downstream.spec.total_roi;
        let on = |a: usize, here: i64, elsewhere: i64| if a == axis { here } else { elsewhere };
        return Err(CoreError::Uncovered {
            task_id: downstream.spec.id.clone(),
            upstream_id: upstream.spec.id.clone(),
            axis,
            region: Box::new(Roi {
                offset: Coordinate::from_fn(grid.dims(), |a| on(a, begin, total.offset[a])),
                shape: Coordinate::from_fn(grid.dims(), |a| on(a, end - begin, total.shape[a])),
            }),
        });
    }
    Ok(())
}
