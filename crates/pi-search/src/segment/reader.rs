//! Reads parts of a segment on demand: the index of its terms is in memory, everything else stays in the file.

use std::cell::RefCell;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};

use super::encoding::{
    CHECKSUM_BYTES, DocumentRow, MAGIC, Posting, ROW_BYTES, ROWS_PER_BLOCK, decode_postings,
    take_bytes, take_number, take_u32,
};
use super::writer::{FOOTER_BYTES, FileRun, Footer};
use crate::directory::IndexDirectory;
use crate::error::SearchError;
use crate::manifest::SegmentRecord;
use crate::query::QueryTerm;

/// Terms that the start of a word may match; more would match nearly everything.
const MAX_PREFIX_TERMS: usize = 2000;

#[derive(Debug)]
pub(crate) struct SegmentReader {
    file: File,
    directory: IndexDirectory,
    blocks: Vec<TermBlock>,
    pub(crate) runs: Vec<FileRun>,
    pub(crate) documents: u32,
    pub(crate) total_terms: u64,
    rows_offset: u64,
    /// The block of rows that was read last.
    rows: RefCell<Option<(u32, Vec<u8>)>>,
}

#[derive(Debug)]
struct TermBlock {
    first_term: String,
    offset: u64,
    length: usize,
    checksum: u32,
}

/// A term of a block.
#[derive(Debug, Clone)]
pub(super) struct TermEntry {
    pub(super) term: String,
    postings: StoredPostings,
}

#[derive(Debug, Clone)]
enum StoredPostings {
    Inline(Vec<u8>),
    Outside {
        offset: u64,
        length: usize,
        checksum: u32,
    },
}

impl SegmentReader {
    /// Opens a segment. A file that is missing or not the listed one is damage.
    pub(crate) fn open(
        directory: &IndexDirectory,
        record: &SegmentRecord,
    ) -> Result<Self, SearchError> {
        let opened = directory.open_segment(&record.name);
        let file = opened.map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => SearchError::damaged("a segment is missing"),
            _ => directory.error(error),
        })?;
        let metadata = file.metadata().map_err(|error| directory.error(error))?;
        let damaged = || SearchError::damaged("the end of a segment");
        if metadata.len() != record.bytes || !metadata.is_file() {
            return Err(SearchError::damaged("the length of a segment"));
        }
        let mut reader = Self {
            file,
            directory: directory.clone(),
            blocks: Vec::new(),
            runs: Vec::new(),
            documents: 0,
            total_terms: 0,
            rows_offset: 0,
            rows: RefCell::default(),
        };
        let footer_offset = record.bytes.checked_sub(FOOTER_BYTES as u64);
        let footer_offset = footer_offset.ok_or_else(damaged)?;
        let footer = reader.read_at(footer_offset, FOOTER_BYTES)?;
        let footer = footer.first_chunk().and_then(Footer::decode);
        let footer = footer.ok_or_else(damaged)?;
        if reader.read_at(0, MAGIC.len())? != MAGIC {
            return Err(SearchError::damaged("the start of a segment"));
        }
        reader.documents = u32::try_from(footer.documents)
            .ok()
            .filter(|documents| *documents == record.documents)
            .ok_or_else(damaged)?;
        let length = footer_offset.checked_sub(footer.runs_offset);
        let length = length.and_then(|length| usize::try_from(length).ok());
        let tail = reader.read_at(footer.runs_offset, length.ok_or_else(damaged)?)?;
        let runs_length = footer.index_offset.checked_sub(footer.runs_offset);
        let runs_length = runs_length.and_then(|length| usize::try_from(length).ok());
        let parts = runs_length.and_then(|length| tail.split_at_checked(length));
        let (runs, index) = parts.ok_or_else(damaged)?;
        if u64::from(crc32fast::hash(&tail)) != footer.tail_checksum {
            return Err(damaged());
        }
        reader.total_terms = footer.total_terms;
        reader.rows_offset = footer.rows_offset;
        reader.runs = decode_runs(runs).ok_or_else(damaged)?;
        reader.blocks = decode_index(index).ok_or_else(damaged)?;
        Ok(reader)
    }

    fn read_at(&self, offset: u64, length: usize) -> Result<Vec<u8>, SearchError> {
        let metadata = self.file.metadata();
        let available = metadata.map_err(|error| self.directory.error(error))?.len();
        let end = offset.checked_add(length as u64);
        if end.is_none_or(|end| end > available) {
            return Err(SearchError::damaged("a position in a segment"));
        }
        let mut bytes = vec![0; length];
        let mut file = &self.file;
        file.seek(SeekFrom::Start(offset))
            .and_then(|_| file.read_exact(&mut bytes))
            .map_err(|error| self.directory.error(error))?;
        Ok(bytes)
    }

    fn read_checked(
        &self,
        offset: u64,
        length: usize,
        checksum: u32,
    ) -> Result<Vec<u8>, SearchError> {
        let bytes = self.read_at(offset, length)?;
        if crc32fast::hash(&bytes) == checksum {
            Ok(bytes)
        } else {
            Err(SearchError::damaged("a part of a segment"))
        }
    }

    pub(super) const fn block_count(&self) -> usize {
        self.blocks.len()
    }

    pub(super) fn read_block(&self, position: usize) -> Result<Vec<TermEntry>, SearchError> {
        let Some(block) = self.blocks.get(position) else {
            return Ok(Vec::new());
        };
        let bytes = self.read_checked(block.offset, block.length, block.checksum)?;
        decode_block(&bytes).ok_or(SearchError::damaged("a block of terms"))
    }

    pub(super) fn read_postings(&self, entry: &TermEntry) -> Result<Vec<Posting>, SearchError> {
        let decoded = match &entry.postings {
            StoredPostings::Inline(bytes) => decode_postings(bytes, self.documents),
            StoredPostings::Outside {
                offset,
                length,
                checksum,
            } => {
                let bytes = self.read_checked(*offset, *length, *checksum)?;
                decode_postings(&bytes, self.documents)
            }
        };
        decoded.ok_or(SearchError::damaged("a posting list"))
    }

    /// Returns the documents that contain a term, in their order.
    pub(crate) fn find(&self, term: &QueryTerm) -> Result<Vec<Posting>, SearchError> {
        // The block before the first one that starts after the term may contain it.
        let after = self
            .blocks
            .partition_point(|block| block.first_term.as_str() <= term.text.as_str());
        let mut lists = Vec::new();
        'blocks: for position in after.saturating_sub(1)..self.blocks.len() {
            for entry in self.read_block(position)? {
                if term.matches(&entry.term) {
                    lists.push(self.read_postings(&entry)?);
                    if !term.is_prefix || lists.len() == MAX_PREFIX_TERMS {
                        break 'blocks;
                    }
                } else if entry.term > term.text {
                    break 'blocks;
                }
            }
        }
        Ok(union(lists))
    }

    pub(crate) fn row(&self, document: u32) -> Result<DocumentRow, SearchError> {
        let damaged = || SearchError::damaged("the documents of a segment");
        let block = document / ROWS_PER_BLOCK;
        let mut cached = self.rows.borrow_mut();
        let rows = match &mut *cached {
            Some((known, rows)) if *known == block => rows,
            other => &other.insert((block, self.read_rows(block)?)).1,
        };
        let start = (document % ROWS_PER_BLOCK) as usize * ROW_BYTES;
        let row = rows.get(start..).and_then(<[u8]>::first_chunk);
        row.and_then(|row| DocumentRow::decode(*row))
            .ok_or_else(damaged)
    }

    fn read_rows(&self, block: u32) -> Result<Vec<u8>, SearchError> {
        let first = block.saturating_mul(ROWS_PER_BLOCK);
        let count = self.documents.saturating_sub(first).min(ROWS_PER_BLOCK) as usize;
        let full = ROWS_PER_BLOCK as usize * ROW_BYTES + CHECKSUM_BYTES;
        let offset = self.rows_offset + u64::from(block) * full as u64;
        let mut bytes = self.read_at(offset, count * ROW_BYTES + CHECKSUM_BYTES)?;
        let checksum = bytes.split_off(count * ROW_BYTES);
        if checksum == crc32fast::hash(&bytes).to_le_bytes() {
            Ok(bytes)
        } else {
            Err(SearchError::damaged("the documents of a segment"))
        }
    }

    /// Returns how many documents belong to files for which `is_counted` returns true.
    pub(crate) fn count_documents(&self, is_counted: &dyn Fn(u32) -> bool) -> u32 {
        let ends = self.runs.iter().skip(1).map(|run| run.first);
        let runs = self.runs.iter().zip(ends.chain([self.documents]));
        let counted = runs.filter(|(run, _)| is_counted(run.file));
        counted
            .map(|(run, end)| end.saturating_sub(run.first))
            .sum()
    }

    /// Returns the number of the session file of a document.
    pub(crate) fn file_of(&self, document: u32) -> Option<u32> {
        let after = self.runs.partition_point(|run| run.first <= document);
        self.runs.get(after.checked_sub(1)?).map(|run| run.file)
    }
}

/// Combines lists of different terms.
fn union(mut lists: Vec<Vec<Posting>>) -> Vec<Posting> {
    if lists.len() < 2 {
        return lists.pop().unwrap_or_default();
    }
    let mut all: Vec<Posting> = lists.into_iter().flatten().collect();
    all.sort_unstable_by_key(|posting| posting.document);
    all.dedup_by(|next, kept| {
        let is_same = next.document == kept.document;
        if is_same {
            kept.count = kept.count.saturating_add(next.count);
        }
        is_same
    });
    all
}

fn decode_runs(mut bytes: &[u8]) -> Option<Vec<FileRun>> {
    let mut runs = Vec::new();
    while !bytes.is_empty() {
        runs.push(FileRun {
            first: take_u32(&mut bytes)?,
            file: take_u32(&mut bytes)?,
        });
    }
    Some(runs)
}

fn take_text<'a>(bytes: &mut &'a [u8]) -> Option<&'a str> {
    let length = usize::try_from(take_number(bytes)?).ok()?;
    std::str::from_utf8(take_bytes(bytes, length)?).ok()
}

fn take_checksum(bytes: &mut &[u8]) -> Option<u32> {
    let checksum = take_bytes(bytes, CHECKSUM_BYTES)?;
    Some(u32::from_le_bytes(*checksum.first_chunk()?))
}

fn decode_index(mut bytes: &[u8]) -> Option<Vec<TermBlock>> {
    let mut blocks = Vec::new();
    while !bytes.is_empty() {
        blocks.push(TermBlock {
            first_term: take_text(&mut bytes)?.to_owned(),
            offset: take_number(&mut bytes)?,
            length: usize::try_from(take_number(&mut bytes)?).ok()?,
            checksum: take_checksum(&mut bytes)?,
        });
    }
    Some(blocks)
}

fn decode_block(mut bytes: &[u8]) -> Option<Vec<TermEntry>> {
    let mut entries: Vec<TermEntry> = Vec::new();
    while !bytes.is_empty() {
        let shared = usize::try_from(take_number(&mut bytes)?).ok()?;
        let suffix = take_text(&mut bytes)?;
        let before = entries.last().map_or("", |entry| &entry.term);
        let term = format!("{}{suffix}", before.get(..shared)?);
        let code = take_number(&mut bytes)?;
        let length = usize::try_from(code >> 1).ok()?;
        let postings = match code & 1 {
            0 => StoredPostings::Inline(take_bytes(&mut bytes, length)?.to_vec()),
            _ => StoredPostings::Outside {
                length,
                offset: take_number(&mut bytes)?,
                checksum: take_checksum(&mut bytes)?,
            },
        };
        entries.push(TermEntry { term, postings });
    }
    Some(entries)
}
