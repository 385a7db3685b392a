//! Opening a store for a run: make it, take it over, or say why not.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bellis_core::Fit;

use crate::arrays::ArrayKind;
use crate::chunk::Chunk;
use crate::directory::{
    array_document, chunk_path, unfinished, write_document, Siblings, DOCUMENT,
};
use crate::error::{remove_line, LayoutMismatch, Notice, TrackingError};
use crate::files::Files;
use crate::growth::GrowthRefusal;
use crate::inspect::{broken_document, holds, inspect, located, read_document, Found};
use crate::layout::Layout;
use crate::lock::Lock;
use crate::metadata::{self, GroupDocument};
use crate::migrate;
use crate::options::{OnLayoutMismatch, OpenOptions};
use crate::reset;

/// What opening leaves behind for the store to work with.
#[derive(Debug)]
pub(crate) struct Opened {
    pub(crate) path: PathBuf,
    pub(crate) lock: Lock,
    pub(crate) chunks: Vec<Chunk>,
    pub(crate) notices: Vec<Notice>,
    /// Files and directories that were made and are not on the disk for sure.
    pub(crate) unsynced: Vec<PathBuf>,
}

/// One opening: what it works on, and what it has to tell.
struct Opening<'a> {
    files: &'a Arc<dyn Files>,
    options: &'a OpenOptions,
    layout: &'a Layout,
    path: PathBuf,
    notices: Vec<Notice>,
    unsynced: Vec<PathBuf>,
}

pub(crate) fn open(
    path: &Path,
    layout: &Layout,
    options: &OpenOptions,
) -> Result<Opened, TrackingError> {
    let (mut opening, lock) = located(&*options.files, path, |path, exists| {
        let mut opening = Opening {
            files: &options.files,
            options,
            layout,
            path,
            notices: Vec::new(),
            unsynced: Vec::new(),
        };
        let lock = opening.enter(exists)?;
        Ok((opening, lock))
    })?;
    let with_hash = opening.settle(&lock)?;
    let chunks = opening.open_arrays(&lock, with_hash)?;
    let Opening {
        path,
        notices,
        unsynced,
        ..
    } = opening;
    Ok(Opened {
        path,
        lock,
        chunks,
        notices,
        unsynced,
    })
}

impl Opening<'_> {
    /// Makes the directory where it is missing, takes the lock, and ends a migration that was cut.
    fn enter(&mut self, exists: bool) -> Result<Lock, TrackingError> {
        let expected = self.layout.hash();
        let siblings = Siblings::of(&self.path);
        if !exists {
            if let Some(lock) = migrate::finish_cut(self.files, &self.path, &siblings, |at| {
                Lock::acquire(
                    self.files,
                    at,
                    &self.options.identity,
                    self.options.lock_timing,
                )
            })? {
                let (lock, taken_over, what) = lock;
                self.tell_takeover(taken_over);
                let path = self.path.clone();
                self.notices.push(Notice::MigrationRepaired { path, what });
                return Ok(lock);
            }
            self.files
                .create_dir_all(&self.path)
                .map_err(|error| TrackingError::io(&self.path, "making the directory", error))?;
            self.unsynced.extend(self.path.parent().map(Path::to_owned));
        }
        // Before the lock goes in: a directory that is none of ours stays as it is.
        inspect(&**self.files, &self.path, Some(&expected))?;
        let (lock, taken_over) = Lock::acquire(
            self.files,
            &self.path,
            &self.options.identity,
            self.options.lock_timing,
        )?;
        self.tell_takeover(taken_over);
        if let Some(what) = migrate::clear_cut(&**self.files, &self.path, &siblings)? {
            let path = self.path.clone();
            self.notices.push(Notice::MigrationRepaired { path, what });
        }
        Ok(lock)
    }

    fn tell_takeover(&mut self, holder: Option<crate::LockHolder>) {
        if let Some(holder) = holder {
            self.notices.push(Notice::LockTakenOver {
                path: self.path.clone(),
                holder,
            });
        }
    }

    /// Brings the group to the task's layout; tells whether it carries the hash.
    fn settle(&mut self, lock: &Lock) -> Result<bool, TrackingError> {
        let expected = self.layout.hash();
        let group = match inspect(&**self.files, &self.path, Some(&expected))? {
            Found::Nothing => {
                self.write_group(lock, &serde_json::Map::new(), false)?;
                return Ok(true);
            }
            Found::Store(group) => group,
        };
        match &group.hash {
            None => {
                self.notices.push(Notice::WithoutHash {
                    path: self.path.clone(),
                });
                Ok(false)
            }
            Some(hash) if *hash == expected => {
                self.stamp(lock, &group)?;
                Ok(true)
            }
            Some(hash) => {
                let hash = hash.clone();
                self.carry_over(lock, &group, &hash)?;
                Ok(true)
            }
        }
    }

    /// Adds our parameters to a store that proves its layout by the hash alone.
    fn stamp(&mut self, lock: &Lock, group: &GroupDocument) -> Result<(), TrackingError> {
        if group.layout.as_ref() == Some(self.layout) {
            return Ok(());
        }
        if group.attributes.contains_key(metadata::LAYOUT_ATTRIBUTE) {
            let path = self.path.join(DOCUMENT);
            self.notices.push(Notice::AttributeIgnored { path });
        }
        self.write_group(lock, &group.attributes, true)
    }

    fn write_group(
        &mut self,
        lock: &Lock,
        attributes: &serde_json::Map<String, serde_json::Value>,
        synced: bool,
    ) -> Result<(), TrackingError> {
        let attributes = metadata::stamped(attributes.clone(), self.layout);
        let document = self.path.join(DOCUMENT);
        let text = metadata::group_text(&attributes);
        write_document(&**self.files, &document, &text, lock.owner(), synced)?;
        if !synced {
            self.unsynced.push(document);
            self.unsynced.push(self.path.clone());
        }
        Ok(())
    }

    /// A store of another layout: migrated when the volume has only grown, else refused or
    /// recreated as asked.
    fn carry_over(
        &mut self,
        lock: &Lock,
        group: &GroupDocument,
        hash: &str,
    ) -> Result<(), TrackingError> {
        let stored = self.stored_layout(group, hash);
        let refusal = match &stored {
            Some(stored) => match stored.growth_to(self.layout) {
                Ok(growth) => {
                    let moved = migrate::migrate(
                        self.files,
                        &self.path,
                        lock,
                        migrate::Plan {
                            from: stored,
                            to: self.layout,
                            growth: &growth,
                        },
                        &group.attributes,
                    )?;
                    let path = self.path.clone();
                    let migrate::Moved { kept, cleared } = moved;
                    self.notices.push(Notice::Migrated {
                        path,
                        kept,
                        cleared,
                    });
                    return Ok(());
                }
                Err(refusal) => Some(refusal),
            },
            None => None,
        };
        if self.options.on_layout_mismatch == OnLayoutMismatch::Recreate {
            reset::empty_store(&**self.files, &self.path)?;
            self.write_group(lock, &serde_json::Map::new(), false)?;
            self.notices.push(Notice::Recreated {
                path: self.path.clone(),
            });
            return Ok(());
        }
        Err(self.mismatch(hash, stored.as_ref(), refusal))
    }

    /// The layout that a store was written for: from our attribute when it fits the hash, else from
    /// `grown_from` when that does.
    fn stored_layout(&mut self, group: &GroupDocument, hash: &str) -> Option<Layout> {
        match &group.layout {
            Some(layout) if layout.hash() == hash => return Some(layout.clone()),
            _ if group.attributes.contains_key(metadata::LAYOUT_ATTRIBUTE) => {
                self.notices.push(Notice::AttributeIgnored {
                    path: self.path.join(DOCUMENT),
                });
            }
            _ => {}
        }
        let total = self.options.grown_from.clone()?;
        let same_axes = total.offset.len() == self.layout.axes();
        let old = self.layout.with_total(total).ok().filter(|_| same_axes)?;
        // Templates that start where the total starts have moved along with it.
        let offsets = old.total().offset.iter().zip(&self.layout.total().offset);
        let by: Vec<i128> = offsets
            .map(|(old, new)| i128::from(*old) - i128::from(*new))
            .collect();
        let moved = old.with_templates_moved(&by);
        std::iter::once(old)
            .chain(moved)
            .find(|layout| layout.hash() == hash)
    }

    fn mismatch(
        &self,
        hash: &str,
        stored: Option<&Layout>,
        refusal: Option<GrowthRefusal>,
    ) -> TrackingError {
        let mut fields = match stored {
            Some(stored) => stored.differences(self.layout),
            // A hash can't be taken apart, but the likeliest single change can be tried.
            None => Fit::ALL
                .into_iter()
                .map(|fit| self.layout.with_fit(fit.into()))
                .filter(|layout| layout.hash() == hash)
                .flat_map(|layout| layout.differences(self.layout))
                .collect(),
        };
        let hint = match (refusal, stored) {
            (Some(GrowthRefusal::FrontMisaligned { nearest }), _) => {
                fields.retain(|difference| difference.field == "totalRoi.offset");
                Some(format!(
                    "A volume may grow at the front by whole blocks only; the nearest valid \
                     totalRoi.offset is {nearest:?}."
                ))
            }
            (_, Some(_)) => None,
            (_, None) if self.options.grown_from.is_some() => Some(
                "grownFrom does not give the stored hash, so it is not the total that the store \
                 was written for."
                    .to_owned(),
            ),
            (_, None) => Some(
                "It holds only a hash. If the volume has just grown, pass grownFrom with the old \
                 totalRoi to keep what is done."
                    .to_owned(),
            ),
        };
        TrackingError::LayoutMismatch(Box::new(LayoutMismatch {
            path: self.path.clone(),
            stored: Some(hash.to_owned()),
            expected: self.layout.hash(),
            fields,
            hint,
        }))
    }

    fn open_arrays(&mut self, lock: &Lock, with_hash: bool) -> Result<Vec<Chunk>, TrackingError> {
        let mapped = !self.options.force_plain_writes
            && self.files.mapping_is_safe(&self.path).map_err(|error| {
                TrackingError::io(&self.path, "asking for its file system", error)
            })?;
        let kinds: &[ArrayKind] = if self.options.resource_tracking {
            &ArrayKind::ALL
        } else {
            &ArrayKind::BASIC
        };
        let mut chunks = Vec::with_capacity(kinds.len());
        for kind in kinds {
            chunks.push(self.open_array(lock, *kind, with_hash, mapped)?);
        }
        Ok(chunks)
    }

    fn open_array(
        &mut self,
        lock: &Lock,
        kind: ArrayKind,
        with_hash: bool,
        mapped: bool,
    ) -> Result<Chunk, TrackingError> {
        let shape = self.layout.grid_shape();
        let document = array_document(&self.path, kind);
        let chunk = chunk_path(&self.path, kind, shape.len());
        let length = self.layout.cells() * kind.item_size();
        let look = |path: &Path| {
            let found = self.files.kind(path);
            found.map_err(|error| TrackingError::io(path, "looking at it", error))
        };
        let existed = holds(&**self.files, &self.path, kind)?;
        let described = existed && look(&document)?.is_some();
        if described {
            let bytes = read_document(&**self.files, &document)?;
            metadata::check_array(&bytes, kind, &shape)
                .map_err(|problem| broken_document(&document, &self.path, &problem))?;
        } else if existed && !with_hash {
            let problem = "is missing, and without a layout hash nothing says what the array is";
            return Err(broken_document(&document, &self.path, problem));
        }
        let file = if existed && look(&chunk)?.is_some() {
            self.open_chunk(&chunk, length)?
        } else {
            if described && length > 0 {
                self.notices.push(Notice::ChunkMissing {
                    path: chunk.clone(),
                });
            }
            self.create_chunk(lock, &chunk, length)?
        };
        if !described {
            if existed {
                self.notices.push(Notice::MetadataRestored {
                    path: document.clone(),
                });
            }
            let text = metadata::array_text(kind, &shape);
            write_document(&**self.files, &document, &text, lock.owner(), false)?;
            self.unsynced.push(document);
            self.unsynced.push(self.path.join(kind.name()));
        }
        Chunk::new(kind, chunk.clone(), Arc::from(file), length, mapped)
            .map_err(|error| TrackingError::io(&chunk, "opening it", error))
    }

    fn open_chunk(
        &self,
        chunk: &Path,
        length: u64,
    ) -> Result<Box<dyn crate::ChunkFile>, TrackingError> {
        let failed = |error| TrackingError::io(chunk, "opening it", error);
        let file = self.files.open_chunk(chunk, true).map_err(failed)?;
        let found = file.length().map_err(failed)?;
        if found != length {
            return Err(TrackingError::broken(
                chunk,
                format!("has {found} bytes and should have {length}"),
                format!(
                    "Restore the file, or delete the store to start fresh:\n    {}",
                    remove_line(&self.path)
                ),
            ));
        }
        Ok(file)
    }

    fn create_chunk(
        &mut self,
        lock: &Lock,
        chunk: &Path,
        length: u64,
    ) -> Result<Box<dyn crate::ChunkFile>, TrackingError> {
        let made = unfinished(chunk, lock.owner());
        let directory = chunk.parent().unwrap_or(chunk);
        let make = || {
            self.files.create_dir_all(directory)?;
            let file = self.files.create_chunk(&made, length)?;
            self.files.rename(&made, chunk)?;
            Ok(file)
        };
        let file = make().map_err(|error| TrackingError::io(chunk, "making it", error))?;
        self.unsynced.extend(
            directory
                .ancestors()
                .take_while(|at| *at != self.path)
                .map(Path::to_owned),
        );
        Ok(file)
    }
}
