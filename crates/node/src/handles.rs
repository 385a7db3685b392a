//! Objects that JavaScript holds by a handle number. They live on the thread that made them: a handle
//! means nothing on another one.

use crate::error::{Failure, NativeError};

/// The objects of one kind on one thread, by handle.
pub(crate) struct Handles<T> {
    name: &'static str,
    slots: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Handles<T> {
    /// `name` says in errors what the handle stands for.
    pub(crate) const fn new(name: &'static str) -> Self {
        Self {
            name,
            slots: Vec::new(),
            free: Vec::new(),
        }
    }

    /// Keeps `object` until it is removed.
    pub(crate) fn insert(&mut self, object: T) -> Result<u32, Failure> {
        if let Some(handle) = self.free.pop() {
            self.slots[handle as usize] = Some(object);
            return Ok(handle);
        }
        let handle = u32::try_from(self.slots.len())
            .map_err(|_| NativeError::internal(format!("too many of {}", self.name)))?;
        self.slots.push(Some(object));
        Ok(handle)
    }

    /// The object behind `handle`, or an error when it was removed or never was.
    #[inline]
    pub(crate) fn get(&mut self, handle: u32) -> Result<&mut T, Failure> {
        match self.slots.get_mut(handle as usize) {
            Some(Some(object)) => Ok(object),
            _ => Err(NativeError::internal(format!(
                "no {} has handle {handle}",
                self.name
            ))),
        }
    }

    /// Takes the object out; its handle may be given to another one.
    pub(crate) fn remove(&mut self, handle: u32) -> Option<T> {
        let object = self.slots.get_mut(handle as usize)?.take()?;
        self.free.push(handle);
        Some(object)
    }

    /// All objects.
    pub(crate) fn into_objects(self) -> impl Iterator<Item = T> {
        self.slots.into_iter().flatten()
    }
}
