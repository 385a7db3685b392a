//! Blocks that the user says need not run.

use std::fmt;

/// One byte per block, row-major in the block grid; not zero means skip. The bytes may be shared, not copied.
pub struct SkipMask(Box<dyn AsRef<[u8]> + Send + Sync>);

impl SkipMask {
    /// A mask over anything that has bytes.
    pub fn new(cells: impl AsRef<[u8]> + Send + Sync + 'static) -> Self {
        Self(Box::new(cells))
    }

    /// The bytes.
    #[inline]
    pub fn cells(&self) -> &[u8] {
        (*self.0).as_ref()
    }
}

impl fmt::Debug for SkipMask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SkipMask({} cells)", self.cells().len())
    }
}
