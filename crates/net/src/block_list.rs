//! Lists of blocks and of results as they travel: each number as the difference to the one before,
//! because neighbours are close and small numbers are short.

use std::fmt;

use serde::de::{SeqAccess, Visitor};
use serde::ser::SerializeSeq;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::message::{BlockResult, Outcome};

/// Room made for a list before its items have arrived: a length on the wire proves nothing.
const TRUSTED_CAPACITY: usize = 4096;

/// Block indices. On the wire: a count, then for each the signed difference to its predecessor (to
/// 0 for the first), wrapping at 2^64.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlockList(pub Vec<u64>);

impl Serialize for BlockList {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.0.len()))?;
        let mut previous = 0;
        for &block in &self.0 {
            list.serialize_element(&difference(block, previous))?;
            previous = block;
        }
        list.end()
    }
}

impl<'de> Deserialize<'de> for BlockList {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<BlockList, D::Error> {
        struct Blocks;
        impl<'de> Visitor<'de> for Blocks {
            type Value = BlockList;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("differences between block indices")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<BlockList, A::Error> {
                let mut blocks = Vec::with_capacity(trusted(list.size_hint()));
                let mut previous = 0u64;
                while let Some(step) = list.next_element::<i64>()? {
                    previous = previous.wrapping_add_signed(step);
                    blocks.push(previous);
                }
                Ok(BlockList(blocks))
            }
        }
        deserializer.deserialize_seq(Blocks)
    }
}

/// Results. On the wire: a count, then for each (block difference, nanoseconds from the end of the
/// one before to the start of this one, nanoseconds it ran, outcome), differences wrapping at 2^64.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ResultList(pub Vec<BlockResult>);

impl Serialize for ResultList {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(Some(self.0.len()))?;
        let (mut block, mut end) = (0, 0);
        for result in &self.0 {
            list.serialize_element(&(
                difference(result.block, block),
                difference(result.started, end),
                result.ended.wrapping_sub(result.started),
                &result.outcome,
            ))?;
            (block, end) = (result.block, result.ended);
        }
        list.end()
    }
}

impl<'de> Deserialize<'de> for ResultList {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<ResultList, D::Error> {
        struct Results;
        impl<'de> Visitor<'de> for Results {
            type Value = ResultList;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("results of blocks")
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<ResultList, A::Error> {
                let mut results = Vec::with_capacity(trusted(list.size_hint()));
                let (mut block, mut end) = (0u64, 0u64);
                while let Some((step, gap, ran, outcome)) =
                    list.next_element::<(i64, i64, u64, Outcome)>()?
                {
                    block = block.wrapping_add_signed(step);
                    let started = end.wrapping_add_signed(gap);
                    end = started.wrapping_add(ran);
                    results.push(BlockResult {
                        block,
                        started,
                        ended: end,
                        outcome,
                    });
                }
                Ok(ResultList(results))
            }
        }
        deserializer.deserialize_seq(Results)
    }
}

fn difference(to: u64, from: u64) -> i64 {
    to.wrapping_sub(from) as i64
}

fn trusted(hint: Option<usize>) -> usize {
    hint.unwrap_or(0).min(TRUSTED_CAPACITY)
}
