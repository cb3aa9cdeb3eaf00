//! Maps blocks to line numbers, for documents of any length.
//!
//! A Fenwick tree over line counts: reading a start, changing a count and finding the block of a
//! line take time logarithmic in the number of blocks.

/// Prefix sums over the line counts of blocks.
#[derive(Clone, Debug, Default)]
pub(super) struct LineIndex {
    /// `tree[i]` sums the counts of the `lowest_bit(i + 1)` blocks that end with block `i`.
    tree: Vec<usize>,
    total: usize,
}

fn lowest_bit(number: usize) -> usize {
    number & number.wrapping_neg()
}

impl LineIndex {
    pub(super) fn rebuild(&mut self, counts: impl Iterator<Item = usize>) {
        self.tree.clear();
        self.total = 0;
        for count in counts {
            self.push(count);
        }
    }

    pub(super) fn push(&mut self, count: usize) {
        let position = self.tree.len() + 1;
        let covered_from = position - lowest_bit(position);
        let before = self.total - self.start(covered_from);
        self.tree.push(before + count);
        self.total += count;
    }

    /// Replaces `old` lines of `block` with `new` lines.
    pub(super) fn change(&mut self, block: usize, old: usize, new: usize) {
        self.total = (self.total + new).saturating_sub(old);
        let mut position = block + 1;
        while let Some(sum) = self.tree.get_mut(position - 1) {
            *sum = (*sum + new).saturating_sub(old);
            position += lowest_bit(position);
        }
    }

    /// Returns how many lines precede `block`.
    pub(super) fn start(&self, block: usize) -> usize {
        let mut position = block.min(self.tree.len());
        let mut sum = 0;
        while position > 0 {
            sum += self.tree.get(position - 1).copied().unwrap_or(0);
            position -= lowest_bit(position);
        }
        sum
    }

    pub(super) fn total(&self) -> usize {
        self.total
    }

    /// Returns the block that contains `line` and the line's index in it; past the end, the block
    /// count.
    pub(super) fn find(&self, line: usize) -> (usize, usize) {
        let mut position = 0;
        let mut rest = line;
        let mut step = self.tree.len().checked_next_power_of_two().unwrap_or(0);
        while step > 0 {
            if let Some(sum) = self.tree.get(position + step - 1)
                && *sum <= rest
            {
                position += step;
                rest -= *sum;
            }
            step /= 2;
        }
        (position, rest)
    }
}

#[cfg(test)]
mod tests {
    use super::LineIndex;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_tree_agrees_with_plain_sums(
            mut counts in prop::collection::vec(0_usize..4, 1..40),
            changes in prop::collection::vec((0_usize..40, 0_usize..6), 0..20),
        ) {
            let mut index = LineIndex::default();
            index.rebuild(counts.iter().copied());
            for (block, count) in changes {
                let block = block % counts.len();
                index.change(block, counts[block], count);
                counts[block] = count;
            }
            let mut line = 0;
            for (block, count) in counts.iter().enumerate() {
                prop_assert_eq!(index.start(block), line);
                for offset in 0..*count {
                    prop_assert_eq!(index.find(line + offset), (block, offset));
                }
                line += count;
            }
            prop_assert_eq!(index.total(), line);
            prop_assert_eq!(index.find(line).0, counts.len());
        }
    }
}
