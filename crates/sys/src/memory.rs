//! Where memory comes from. A decision makes and drops many small things, which mimalloc is quicker
//! at than the system. What is large grows, such as the records of a million jobs: there the system
//! is better, because it moves pages to another address rather than copy what is in them, and does
//! not hold both copies at once.

use mimalloc::MiMalloc;
use std::alloc::{GlobalAlloc, Layout, System};

/// What is at least so large comes from the system.
const LARGE: usize = 256 * 1024;

/// Small things from mimalloc, large ones from the system.
#[derive(Debug)]
pub struct BySize;

fn is_large(size: usize) -> bool {
    size >= LARGE
}

// SAFETY: every block goes back to whom it came from, because that hangs on its size alone, which
// whoever gives a block back has to know. Both keep the contract of an allocator by themselves.
unsafe impl GlobalAlloc for BySize {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the same contract.
        unsafe {
            match is_large(layout.size()) {
                true => System.alloc(layout),
                false => MiMalloc.alloc(layout),
            }
        }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the same contract.
        unsafe {
            match is_large(layout.size()) {
                true => System.alloc_zeroed(layout),
                false => MiMalloc.alloc_zeroed(layout),
            }
        }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: `layout` is what the block was made with, so this is where it came from.
        unsafe {
            match is_large(layout.size()) {
                true => System.dealloc(block, layout),
                false => MiMalloc.dealloc(block, layout),
            }
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: on one side of the border it is the business of whom the block came from. Across
        // it, the new block is of the new size and cannot overlap the old one, as many bytes are
        // copied as both have, and the old one is given back as it was made, once there is a new
        // one. That the new size is sound with the old alignment the caller promises.
        unsafe {
            match (is_large(layout.size()), is_large(size)) {
                (true, true) => System.realloc(block, layout, size),
                (false, false) => MiMalloc.realloc(block, layout, size),
                _ => {
                    let new = self.alloc(Layout::from_size_align_unchecked(size, layout.align()));
                    if !new.is_null() {
                        block.copy_to_nonoverlapping(new, layout.size().min(size));
                        self.dealloc(block, layout);
                    }
                    new
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Blocks keep what is in them as they grow across the border and shrink back.
    #[test]
    fn what_is_in_a_block_stays() {
        for align in [1, 8, 64, 4096] {
            let mut layout = Layout::from_size_align(1000, align).expect("a layout");
            // SAFETY: the block is used within its size, and given back with its layout.
            unsafe {
                let mut block = BySize.alloc_zeroed(layout);
                assert_eq!(block.add(999).read(), 0);
                (0..1000).for_each(|at| block.add(at).write(at as u8));
                for size in [LARGE - 1, LARGE, 8 * LARGE, 2 * LARGE, LARGE - 1, 1000] {
                    block = BySize.realloc(block, layout, size);
                    assert_eq!(block.align_offset(align), 0);
                    layout = Layout::from_size_align(size, align).expect("a layout");
                    assert!((0..1000).all(|at| block.add(at).read() == at as u8), "{size}");
                }
                BySize.dealloc(block, layout);
                let large = Layout::from_size_align(LARGE, align).expect("a layout");
                let block = BySize.alloc_zeroed(large);
                assert!((0..LARGE).all(|at| block.add(at).read() == 0));
                BySize.dealloc(block, large);
            }
        }
    }
}
