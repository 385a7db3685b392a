//! Blocks and edges as the rules say it in voxels, stored one by one. Shares no arithmetic with the crate.

use std::collections::{BTreeSet, HashMap};

use bellis_core::{Fit, TaskSpec};

pub(crate) type Vector = Vec<i64>;

#[derive(Clone, Debug)]
pub(crate) struct Region {
    pub(crate) begin: Vector,
    pub(crate) end: Vector,
}

impl Region {
    fn of(roi: &bellis_core::Roi) -> Self {
        let begin: Vector = roi.offset.iter().collect();
        let end = begin
            .iter()
            .zip(roi.shape.iter())
            .map(|(b, s)| b + s)
            .collect();
        Self { begin, end }
    }

    fn clip(&self, to: &Region) -> Region {
        let pick = |a: &Vector, b: &Vector, f: fn(i64, i64) -> i64| -> Vector {
            a.iter().zip(b).map(|(&a, &b)| f(a, b)).collect()
        };
        Region {
            begin: pick(&self.begin, &to.begin, i64::max),
            end: pick(&self.end, &to.end, i64::min),
        }
    }

    pub(crate) fn meets(&self, other: &Region) -> bool {
        let both = self.clip(other);
        both.begin.iter().zip(&both.end).all(|(b, e)| b < e)
    }
}

#[derive(Clone, Debug)]
pub(crate) struct NaiveBlock {
    pub(crate) number: u128,
    pub(crate) level: usize,
    pub(crate) read: Region,
    pub(crate) write: Region,
    pub(crate) index: Vector,
    /// Positions, in the list of the task, of the blocks that this one waits for.
    pub(crate) upstream: BTreeSet<usize>,
}

/// All blocks of a task in the order of hand-out.
pub(crate) fn blocks(spec: &TaskSpec) -> (Vec<NaiveBlock>, usize) {
    let (total, read, write) = (
        Region::of(&spec.total_roi),
        Region::of(&spec.read_roi),
        Region::of(&spec.write_roi),
    );
    let dims = total.begin.len();
    let w: Vector = spec.write_roi.shape.iter().collect();
    let lower: Vector = (0..dims).map(|a| write.begin[a] - read.begin[a]).collect();
    let upper: Vector = (0..dims).map(|a| read.end[a] - write.end[a]).collect();
    let total_write = Region {
        begin: (0..dims).map(|a| total.begin[a] + lower[a]).collect(),
        end: (0..dims)
            .map(|a| (total.end[a] - upper[a]).max(total.begin[a] + lower[a]))
            .collect(),
    };
    let extent: Vector = (0..dims)
        .map(|a| total_write.end[a] - total_write.begin[a])
        .collect();
    let stride: Vector = (0..dims)
        .map(|a| {
            if !spec.read_write_conflict {
                return w[a];
            }
            let up = |value: i64| (value + w[a] - 1).div_euclid(w[a]) * w[a];
            let most = if spec.fit == Fit::Valid {
                extent[a] / w[a] * w[a]
            } else {
                up(extent[a])
            };
            up(lower[a].max(upper[a]) + w[a]).min(most)
        })
        .collect();
    let included = |offset: &Vector| {
        (0..dims).all(|a| {
            let begin = offset[a];
            let end = if spec.fit == Fit::Valid {
                begin + w[a]
            } else {
                begin + 1
            };
            total_write.begin[a] <= begin && end <= total_write.end[a]
        })
    };
    let mut levels = product(
        &(0..dims)
            .map(|a| steps(0, stride[a], w[a]))
            .collect::<Vec<_>>(),
    );
    levels.reverse();
    let mut blocks: Vec<NaiveBlock> = Vec::new();
    let mut by_offset: HashMap<Vector, usize> = HashMap::new();
    for (level, level_offset) in levels.iter().enumerate() {
        let axes: Vec<Vector> = (0..dims)
            .map(|a| {
                steps(
                    total_write.begin[a] + level_offset[a],
                    total_write.end[a],
                    stride[a],
                )
            })
            .collect();
        for offset in product(&axes).into_iter().filter(included) {
            let mut upstream = BTreeSet::new();
            if level > 0 {
                let previous = &levels[level - 1];
                let ways: Vec<Vector> = (0..dims)
                    .map(|a| match previous[a] - level_offset[a] {
                        0 => vec![0],
                        d if d < 0 => vec![d, d + stride[a]],
                        d => vec![d - stride[a], d],
                    })
                    .collect();
                for way in product(&ways) {
                    let other: Vector = offset.iter().zip(&way).map(|(o, d)| o + d).collect();
                    if included(&other) {
                        upstream.insert(by_offset[&other]);
                    }
                }
            }
            let raw_write = Region {
                end: (0..dims).map(|a| offset[a] + w[a]).collect(),
                begin: offset.clone(),
            };
            let raw_read = Region {
                begin: (0..dims).map(|a| offset[a] - lower[a]).collect(),
                end: (0..dims).map(|a| offset[a] + w[a] + upper[a]).collect(),
            };
            let shrink = spec.fit == Fit::Shrink;
            let index: Vector = (0..dims)
                .map(|a| (offset[a] - total.begin[a]).div_euclid(w[a]))
                .collect();
            by_offset.insert(offset, blocks.len());
            blocks.push(NaiveBlock {
                number: number(&index),
                level,
                read: if shrink {
                    raw_read.clip(&total)
                } else {
                    raw_read
                },
                write: if shrink {
                    raw_write.clip(&total_write)
                } else {
                    raw_write
                },
                index,
                upstream,
            });
        }
    }
    let level_count = if spec.read_write_conflict && blocks.is_empty() {
        0
    } else {
        levels.len()
    };
    (blocks, level_count)
}

fn steps(from: i64, to: i64, by: i64) -> Vector {
    if by == 0 {
        return Vec::new();
    }
    (from..to).step_by(by as usize).collect()
}

/// All combinations, last axis fastest.
fn product(axes: &[Vector]) -> Vec<Vector> {
    axes.iter().fold(vec![Vec::new()], |heads, axis| {
        heads
            .iter()
            .flat_map(|head| {
                axis.iter()
                    .map(move |&last| [head.as_slice(), &[last]].concat())
            })
            .collect()
    })
}

/// By recursion and Pascal's triangle, as it is defined.
fn number(index: &[i64]) -> u128 {
    match index {
        [] => 0,
        [only] => *only as u128,
        _ => {
            let sum: i64 = index.iter().sum();
            binomial(sum as u128 + index.len() as u128 - 1, index.len() as u128)
                + number(&index[..index.len() - 1])
        }
    }
}

fn binomial(n: u128, k: u128) -> u128 {
    if k > n {
        return 0;
    }
    (1..=k).fold(1, |result, i| result * (n - k + i) / i)
}
