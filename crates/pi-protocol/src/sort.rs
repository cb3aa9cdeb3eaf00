//! Sorts short lists with little code: the sort of the standard library is compiled for every type and closure, at four
//! kilobytes each. This one is compiled once and moves elements by swaps.

use std::cmp::Ordering;

/// Sorts a list like [`slice::sort_by`]: equal elements keep their order.
pub fn sort_by<T>(list: &mut [T], mut compare: impl FnMut(&T, &T) -> Ordering) {
    let compare: &mut dyn FnMut(usize, usize) -> Ordering =
        &mut |one, other| match (list.get(one), list.get(other)) {
            (Some(one), Some(other)) => compare(one, other),
            _ => Ordering::Equal,
        };
    for (one, other) in swaps(list.len(), compare) {
        list.swap(one, other);
    }
}

/// Sorts a list like [`slice::sort_by_key`]: equal elements keep their order.
pub fn sort_by_key<T, K: Ord>(list: &mut [T], mut key: impl FnMut(&T) -> K) {
    sort_by(list, |one, other| key(one).cmp(&key(other)));
}

/// Returns the swaps that sort a list whose positions are compared.
fn swaps(length: usize, compare: &mut dyn FnMut(usize, usize) -> Ordering) -> Vec<(usize, usize)> {
    // The element at each position of the sorted list.
    let mut sources: Vec<usize> = (0..length).collect();
    sources.sort_by(|one, other| compare(*one, *other));
    let mut swaps = Vec::new();
    for start in 0..length {
        let mut position = start;
        // Follows a cycle of elements that take each other's places.
        while let Some(source) = sources.get_mut(position) {
            let next = std::mem::replace(source, position);
            if next == start || next == position {
                break;
            }
            swaps.push((position, next));
            position = next;
        }
    }
    swaps
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn lists_are_sorted_like_the_standard_library_does() {
        // All lists of up to six elements with four keys, so that there are equal ones.
        for length in 0..=6_u32 {
            for number in 0..4_usize.pow(length) {
                let digits = (0..length).map(|place| number / 4_usize.pow(place) % 4);
                let list: Vec<(usize, u32)> = digits.zip(0..).collect();
                let (mut sorted, mut expected) = (list.clone(), list);
                sort_by_key(&mut sorted, |(key, _)| *key);
                expected.sort_by_key(|(key, _)| *key);
                assert_eq!(sorted, expected);
                sort_by(&mut sorted, |(one, _), (other, _)| other.cmp(one));
                expected.sort_by(|(one, _), (other, _)| other.cmp(one));
                assert_eq!(sorted, expected);
            }
        }
    }
}
