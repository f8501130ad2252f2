//! A slice that several threads write at disjoint places.

use std::marker::PhantomData;

/// Write access to a slice, to be split among threads.
pub(super) struct Shared<'a, T> {
    start: *mut T,
    len: usize,
    slice: PhantomData<&'a mut [T]>,
}

impl<'a, T> Shared<'a, T> {
    pub(super) fn new(slice: &'a mut [T]) -> Self {
        Self {
            start: slice.as_mut_ptr(),
            len: slice.len(),
            slice: PhantomData,
        }
    }

    /// The part `start..start + len`.
    ///
    /// # Safety
    /// No two parts that are alive at the same time may overlap.
    ///
    /// # Panics
    /// If the part reaches past the end.
    #[expect(unsafe_code, reason = "hands out disjoint parts across threads")]
    #[expect(clippy::mut_from_ref, reason = "the caller keeps the parts disjoint")]
    pub(super) unsafe fn part(&self, start: usize, len: usize) -> &mut [T] {
        assert!(start + len <= self.len, "part of a shared slice out of bounds");
        // SAFETY: inside the slice (checked above), which is mutably borrowed for `'a`; the caller
        // promises that parts alive at the same time do not overlap.
        unsafe { std::slice::from_raw_parts_mut(self.start.add(start), len) }
    }

    /// The address of element `start`, which `len - 1` more elements follow.
    ///
    /// # Panics
    /// If they reach past the end.
    pub(super) fn pointer(&self, start: usize, len: usize) -> *mut T {
        assert!(start + len <= self.len, "part of a shared slice out of bounds");
        self.start.wrapping_add(start)
    }
}

#[expect(unsafe_code, reason = "shared among threads by design")]
// SAFETY: it is a mutable borrow of a slice of `T: Send`; access goes through `part` only.
unsafe impl<T: Send> Sync for Shared<'_, T> {}
#[expect(unsafe_code, reason = "shared among threads by design")]
// SAFETY: as above.
unsafe impl<T: Send> Send for Shared<'_, T> {}
