//! How long one submission may be worked on.

use std::time::Instant;

use super::{Invalid, InvalidKind};

/// Rows between two looks at the clock.
pub(super) const ROWS: usize = 4096;

/// The time for a submission has passed.
pub fn too_slow() -> Invalid {
    Invalid::new(
        InvalidKind::TooSlow,
        "it takes too long to grade; write one plain value per field and as few digits as you need",
    )
}

/// When the work on a submission ends at the latest. It is asked between phases and every few thousand rows.
#[derive(Clone, Copy, Debug)]
pub struct Patience(Option<Instant>);

impl Patience {
    /// Without an end.
    pub const ENDLESS: Self = Self(None);

    /// Until `end`.
    pub fn until(end: Instant) -> Self {
        Self(Some(end))
    }

    /// An error once the end has passed.
    pub fn check(self) -> Result<(), Invalid> {
        match self.0 {
            Some(end) if Instant::now() >= end => Err(too_slow()),
            _ => Ok(()),
        }
    }

    /// [`Patience::check`] for row `row`, which looks at the clock only now and then.
    pub(super) fn check_row(self, row: usize) -> Result<(), Invalid> {
        if row.is_multiple_of(ROWS) {
            self.check()
        } else {
            Ok(())
        }
    }
}
