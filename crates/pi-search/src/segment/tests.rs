//! Bytes of segments.

use pretty_assertions::assert_eq;

use super::encoding::{
    DocumentRow, PostingList, decode_postings, push_number, stored_length, take_number,
};
use super::{Posting, length_of};
use pi_session::listing::TextRole;

#[test]
fn numbers_survive_and_torn_ones_are_refused() {
    for number in [0, 1, 127, 128, 300, u64::from(u32::MAX), u64::MAX] {
        let mut bytes = Vec::new();
        push_number(&mut bytes, number);
        assert_eq!(take_number(&mut bytes.as_slice()), Some(number));
        bytes.pop();
        assert_eq!(take_number(&mut bytes.as_slice()), None);
    }
    assert_eq!(take_number(&mut [0xff_u8; 12].as_slice()), None);
}

#[test]
fn postings_survive_and_unknown_documents_are_refused() {
    let postings = [(0, 1), (1, 3), (500, 1), (501, 70_000)];
    let postings = postings.map(|(document, count)| Posting { document, count });
    let mut list = PostingList::default();
    for posting in postings {
        list.push(posting);
    }
    assert_eq!(decode_postings(&list.bytes, 502), Some(postings.to_vec()));
    assert_eq!(decode_postings(&list.bytes, 501), None);
}

#[test]
fn rows_survive_and_lengths_are_close() {
    let row = DocumentRow {
        offset: 0x1234_5678_9abc,
        seconds: u32::MAX,
        role: TextRole::Other,
        length: 7,
    };
    assert_eq!(DocumentRow::decode(row.encode()), Some(row));
    for terms in [1_u32, 2, 10, 1000, 50_000] {
        let stored = length_of(stored_length(terms));
        assert!(
            (stored / f64::from(terms) - 1.0).abs() < 0.05,
            "{terms}: {stored}"
        );
    }
}
