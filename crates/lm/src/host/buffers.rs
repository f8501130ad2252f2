//! Large buffers that are used again, so that the system need not clear fresh pages for each layer.

use std::sync::Mutex;

/// Smaller buffers are left to the allocator.
const SMALLEST: usize = 1 << 18;
/// Values that are kept at most, 512 MB.
const KEPT: usize = 1 << 27;

static FREE: Mutex<Vec<Vec<f32>>> = Mutex::new(Vec::new());

/// A buffer of `len` values: zeros, or whatever its last user left.
pub(crate) fn take(len: usize) -> Vec<f32> {
    if len < SMALLEST {
        return vec![0.0; len];
    }
    let reused = {
        let mut free = free();
        // The smallest that is large enough, and not larger by half.
        let fitting = free
            .iter()
            .enumerate()
            .filter(|(_, own)| (len..=len + len / 2).contains(&own.capacity()));
        let best = fitting
            .min_by_key(|(_, own)| own.capacity())
            .map(|(index, _)| index);
        best.map(|index| free.swap_remove(index))
    };
    match reused {
        Some(mut buffer) => {
            buffer.resize(len, 0.0);
            buffer
        }
        None => vec![0.0; len],
    }
}

/// Gives a buffer back.
pub(crate) fn give(buffer: Vec<f32>) {
    if buffer.capacity() < SMALLEST {
        return;
    }
    let mut free = free();
    free.push(buffer);
    // The oldest go first.
    let mut kept: usize = free.iter().map(Vec::capacity).sum();
    while kept > KEPT {
        kept -= free.remove(0).capacity();
    }
}

fn free() -> std::sync::MutexGuard<'static, Vec<Vec<f32>>> {
    // A list of buffers is valid whatever a panicking thread did to it.
    FREE.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}
