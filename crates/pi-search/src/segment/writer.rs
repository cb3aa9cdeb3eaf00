//! Writes a segment in one pass, with the terms in order.

use std::io::Write;

use super::encoding::{
    CHECKSUM_BYTES, DocumentRow, MAGIC, MAX_INLINE_BYTES, PostingList, ROW_BYTES, ROWS_PER_BLOCK,
    TERM_BLOCK_BYTES, push_number,
};

/// Documents from `first` on belong to a session file, up to the next run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileRun {
    pub(crate) first: u32,
    /// The number of the file.
    pub(crate) file: u32,
}

/// Numbers at the end of a segment, each with eight bytes, then their checksum and the magic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Footer {
    pub(super) rows_offset: u64,
    pub(super) runs_offset: u64,
    pub(super) index_offset: u64,
    /// Of runs and index.
    pub(super) tail_checksum: u64,
    pub(super) documents: u64,
    /// Number of terms of all documents.
    pub(super) total_terms: u64,
}

pub(super) const FOOTER_BYTES: usize = 6 * 8 + CHECKSUM_BYTES + MAGIC.len();

impl Footer {
    fn encode(self) -> Vec<u8> {
        let numbers = [
            self.rows_offset,
            self.runs_offset,
            self.index_offset,
            self.tail_checksum,
            self.documents,
            self.total_terms,
        ];
        let mut bytes: Vec<u8> = numbers.iter().flat_map(|it| it.to_le_bytes()).collect();
        bytes.extend(crc32fast::hash(&bytes).to_le_bytes());
        bytes.extend(MAGIC);
        bytes
    }

    pub(super) fn decode(bytes: &[u8; FOOTER_BYTES]) -> Option<Self> {
        let (numbers, rest) = bytes.split_at_checked(6 * 8)?;
        let (checksum, magic) = rest.split_first_chunk::<CHECKSUM_BYTES>()?;
        if magic != MAGIC || crc32fast::hash(numbers) != u32::from_le_bytes(*checksum) {
            return None;
        }
        let (chunks, _) = numbers.as_chunks::<8>();
        let mut numbers = chunks.iter().map(|chunk| u64::from_le_bytes(*chunk));
        Some(Self {
            rows_offset: numbers.next()?,
            runs_offset: numbers.next()?,
            index_offset: numbers.next()?,
            tail_checksum: numbers.next()?,
            documents: numbers.next()?,
            total_terms: numbers.next()?,
        })
    }
}

pub(super) struct SegmentWriter<'a> {
    out: &'a mut dyn Write,
    position: u64,
    block: Vec<u8>,
    /// The first term of the block, and the last one written.
    first_term: String,
    last_term: String,
    index: Vec<u8>,
    rows: Vec<u8>,
    documents: u32,
}

impl<'a> SegmentWriter<'a> {
    pub(super) fn new(out: &'a mut dyn Write) -> std::io::Result<Self> {
        let mut writer = Self {
            out,
            position: 0,
            block: Vec::new(),
            first_term: String::new(),
            last_term: String::new(),
            index: Vec::new(),
            rows: Vec::new(),
            documents: 0,
        };
        writer.write(MAGIC)?;
        Ok(writer)
    }

    fn write(&mut self, bytes: &[u8]) -> std::io::Result<()> {
        self.position += bytes.len() as u64;
        self.out.write_all(bytes)
    }

    /// Writes the postings of a term that is greater than the one before.
    pub(super) fn push_term(&mut self, term: &str, list: &PostingList) -> std::io::Result<()> {
        if self.block.is_empty() {
            term.clone_into(&mut self.first_term);
            self.last_term.clear();
        }
        let shared = shared_prefix(&self.last_term, term);
        let suffix = term.as_bytes().get(shared..).unwrap_or_default();
        push_number(&mut self.block, shared as u64);
        push_number(&mut self.block, suffix.len() as u64);
        self.block.extend(suffix);
        let length = list.bytes.len();
        if length <= MAX_INLINE_BYTES {
            push_number(&mut self.block, (length as u64) << 1);
            self.block.extend(&list.bytes);
        } else {
            push_number(&mut self.block, (length as u64) << 1 | 1);
            push_number(&mut self.block, self.position);
            self.block
                .extend(crc32fast::hash(&list.bytes).to_le_bytes());
            self.write(&list.bytes)?;
        }
        term.clone_into(&mut self.last_term);
        if self.block.len() >= TERM_BLOCK_BYTES {
            self.end_block()?;
        }
        Ok(())
    }

    fn end_block(&mut self) -> std::io::Result<()> {
        if self.block.is_empty() {
            return Ok(());
        }
        push_number(&mut self.index, self.first_term.len() as u64);
        self.index.extend(self.first_term.as_bytes());
        push_number(&mut self.index, self.position);
        push_number(&mut self.index, self.block.len() as u64);
        self.index
            .extend(crc32fast::hash(&self.block).to_le_bytes());
        let block = std::mem::take(&mut self.block);
        self.write(&block)?;
        self.block = block;
        self.block.clear();
        Ok(())
    }

    /// Ends the terms; rows follow.
    pub(super) fn end_terms(mut self) -> std::io::Result<RowWriter<'a>> {
        self.end_block()?;
        Ok(RowWriter {
            rows_offset: self.position,
            writer: self,
        })
    }
}

/// Writes what follows the terms.
pub(super) struct RowWriter<'a> {
    rows_offset: u64,
    writer: SegmentWriter<'a>,
}

impl RowWriter<'_> {
    pub(super) fn push_row(&mut self, row: DocumentRow) -> std::io::Result<()> {
        self.writer.rows.extend(row.encode());
        self.writer.documents += 1;
        if self.writer.rows.len() >= ROWS_PER_BLOCK as usize * ROW_BYTES {
            self.end_rows()?;
        }
        Ok(())
    }

    fn end_rows(&mut self) -> std::io::Result<()> {
        if self.writer.rows.is_empty() {
            return Ok(());
        }
        let checksum = crc32fast::hash(&self.writer.rows);
        let mut rows = std::mem::take(&mut self.writer.rows);
        rows.extend(checksum.to_le_bytes());
        self.writer.write(&rows)?;
        rows.clear();
        self.writer.rows = rows;
        Ok(())
    }

    /// Writes the end; returns the length of the segment and its number of documents.
    pub(super) fn finish(
        mut self,
        runs: &[FileRun],
        total_terms: u64,
    ) -> std::io::Result<(u64, u32)> {
        self.end_rows()?;
        let runs_offset = self.writer.position;
        let mut tail = Vec::new();
        for run in runs {
            push_number(&mut tail, u64::from(run.first));
            push_number(&mut tail, u64::from(run.file));
        }
        let index_offset = runs_offset + tail.len() as u64;
        tail.extend(&self.writer.index);
        let footer = Footer {
            rows_offset: self.rows_offset,
            runs_offset,
            index_offset,
            tail_checksum: u64::from(crc32fast::hash(&tail)),
            documents: u64::from(self.writer.documents),
            total_terms,
        };
        self.writer.write(&tail)?;
        self.writer.write(&footer.encode())?;
        Ok((self.writer.position, self.writer.documents))
    }
}

/// Returns the length in bytes of the common start of two terms, at a character of both.
fn shared_prefix(one: &str, other: &str) -> usize {
    let pairs = one.chars().zip(other.chars());
    let shared = pairs.take_while(|(one, other)| one == other);
    shared.map(|(character, _)| character.len_utf8()).sum()
}
