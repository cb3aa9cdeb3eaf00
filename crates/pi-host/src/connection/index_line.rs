//! The index of a session file in a snapshot, for another process that reads the file: without it, the process would
//! scan the file, which takes a while for a long session.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pi_session::{PackedIndex, SessionTotals};
use serde::{Deserialize, Serialize};

use crate::session::{AgentSession, LiveClients};

/// The index and what was counted with it.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct IndexLine {
    /// [`PackedIndex::FORMAT`].
    format: u32,
    /// The entries, as base64.
    data: String,
    scanned_to: u64,
    skipped_lines: usize,
    /// The totals of the entries that are counted, in file order.
    #[serde(default)]
    pub(crate) totals: SessionTotals,
}

impl IndexLine {
    /// Returns the index of a session; `None` if it has none for others.
    pub(super) fn of(session: &AgentSession) -> Option<Self> {
        let (packed, totals) = LiveClients::of(session).index()?;
        Some(Self {
            format: PackedIndex::FORMAT,
            data: STANDARD.encode(packed.bytes),
            scanned_to: packed.scanned_to,
            skipped_lines: packed.skipped_lines,
            totals,
        })
    }

    /// Returns the index if it has the format of this process.
    pub(crate) fn packed(&self) -> Option<PackedIndex> {
        if self.format != PackedIndex::FORMAT {
            return None;
        }
        Some(PackedIndex {
            bytes: STANDARD.decode(&self.data).ok()?,
            scanned_to: self.scanned_to,
            skipped_lines: self.skipped_lines,
        })
    }
}
