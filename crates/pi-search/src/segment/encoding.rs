//! The bytes of a segment: integers, posting lists, rows of documents.

use pi_session::listing::TextRole;

pub(super) const MAGIC: &[u8; 8] = b"PISEARC1";

/// A block of terms is closed when it reaches this size.
pub(super) const TERM_BLOCK_BYTES: usize = 4096;

/// Longer posting lists are stored outside of their block.
pub(super) const MAX_INLINE_BYTES: usize = 64;

/// Documents of a block of rows.
pub(super) const ROWS_PER_BLOCK: u32 = 4096;

pub(super) const ROW_BYTES: usize = 12;

pub(super) const CHECKSUM_BYTES: usize = 4;

/// Steps of a stored length per doubling.
const LENGTH_STEPS: f64 = 16.0;

/// A document that contains a term.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Posting {
    pub(crate) document: u32,
    /// How often the term occurs.
    pub(crate) count: u32,
}

/// What is known of a document without its session file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DocumentRow {
    /// Of its line in the session file.
    pub(crate) offset: u64,
    /// Since 1970; zero if unknown.
    pub(crate) seconds: u32,
    pub(crate) role: TextRole,
    /// See [`stored_length`].
    pub(crate) length: u8,
}

impl DocumentRow {
    pub(super) fn encode(self) -> [u8; ROW_BYTES] {
        let [o0, o1, o2, o3, o4, o5, ..] = self.offset.to_le_bytes();
        let [s0, s1, s2, s3] = self.seconds.to_le_bytes();
        [
            o0,
            o1,
            o2,
            o3,
            o4,
            o5,
            s0,
            s1,
            s2,
            s3,
            role_code(self.role),
            self.length,
        ]
    }

    pub(super) fn decode(bytes: [u8; ROW_BYTES]) -> Option<Self> {
        let [o0, o1, o2, o3, o4, o5, s0, s1, s2, s3, role, length] = bytes;
        Some(Self {
            offset: u64::from_le_bytes([o0, o1, o2, o3, o4, o5, 0, 0]),
            seconds: u32::from_le_bytes([s0, s1, s2, s3]),
            role: role_of(role)?,
            length,
        })
    }
}

const fn role_code(role: TextRole) -> u8 {
    match role {
        TextRole::User => 0,
        TextRole::Assistant => 1,
        TextRole::Tool => 2,
        TextRole::Other => 3,
        TextRole::Name => 4,
    }
}

const fn role_of(code: u8) -> Option<TextRole> {
    Some(match code {
        0 => TextRole::User,
        1 => TextRole::Assistant,
        2 => TextRole::Tool,
        3 => TextRole::Other,
        4 => TextRole::Name,
        _ => return None,
    })
}

/// Returns the number of terms of a document in one byte, with an error below 5 %.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "`as` saturates, and the value is not negative"
)]
pub(super) fn stored_length(terms: u32) -> u8 {
    ((f64::from(terms) + 1.0).log2() * LENGTH_STEPS).round() as u8
}

/// Returns the number of terms that a byte encodes.
pub(crate) fn length_of(stored: u8) -> f64 {
    (f64::from(stored) / LENGTH_STEPS).exp2() - 1.0
}

/// Appends an integer, seven bits per byte, the lowest first.
pub(super) fn push_number(bytes: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        bytes.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    bytes.push((number & 0x7f) as u8);
}

/// Removes an integer from the start of `bytes`.
pub(super) fn take_number(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0_u64;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f).checked_shl(shift)?;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

pub(super) fn take_u32(bytes: &mut &[u8]) -> Option<u32> {
    u32::try_from(take_number(bytes)?).ok()
}

pub(super) fn take_bytes<'a>(bytes: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (taken, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some(taken)
}

/// A posting list that grows in the order of the documents.
#[derive(Debug, Clone, Default)]
pub(super) struct PostingList {
    pub(super) bytes: Vec<u8>,
    pub(super) documents: u32,
    /// One more than the last document.
    next: u32,
}

impl PostingList {
    /// `posting` must be for a later document than the last one.
    pub(super) fn push(&mut self, posting: Posting) {
        let distance = u64::from(posting.document.saturating_sub(self.next));
        let is_single = posting.count <= 1;
        push_number(&mut self.bytes, distance << 1 | u64::from(is_single));
        if !is_single {
            push_number(&mut self.bytes, u64::from(posting.count));
        }
        self.next = posting.document.saturating_add(1);
        self.documents += 1;
    }

    pub(super) fn clear(&mut self) {
        self.bytes.clear();
        self.documents = 0;
        self.next = 0;
    }
}

/// Returns the postings of a list; `None` if it is not one, or has a document that does not exist.
pub(super) fn decode_postings(mut bytes: &[u8], documents: u32) -> Option<Vec<Posting>> {
    let mut postings = Vec::new();
    let mut next = 0_u32;
    while !bytes.is_empty() {
        let code = take_number(&mut bytes)?;
        let document = next.checked_add(u32::try_from(code >> 1).ok()?)?;
        if document >= documents {
            return None;
        }
        let count = match code & 1 {
            1 => 1,
            _ => take_u32(&mut bytes)?,
        };
        next = document + 1;
        postings.push(Posting { document, count });
    }
    Some(postings)
}
