//! The file history of a session: what files contained before and after each change, and how to bring them back.
//!
//! The history is a directory next to the session file: an append-only index of changes, each bound to an
//! entry of the session tree, and the contents by their SHA-256. The session file is not touched. [`FileHistory`]
//! records changes and restores the files of any entry; [`WorkTree`] finds what a shell command has changed.
//!
//! All functions block on the disk.
//!
//! ```
//! use pi_checkpoint::{CapturedFile, ChangeCause, FileHistory, Position, Resolution};
//! use pi_protocol::EntryId;
//!
//! # fn main() -> std::io::Result<()> {
//! # let directory = tempfile::tempdir()?;
//! # let path = directory.path().canonicalize()?.join("notes.txt");
//! let mut history = FileHistory::open(&directory.path().join("session.files"), 1 << 20)?;
//! let [prompt, response] = ["prompt", "response"].map(EntryId::from);
//! let at = Position { branch: &[prompt.clone(), response], turn: &prompt };
//!
//! let before = CapturedFile::read(&path)?;
//! std::fs::File::create(&path)?;
//! let after = CapturedFile::read(&path)?;
//! history.record(&at, ChangeCause::Tool { call: "call_1" }, &path, &before, &after)?;
//!
//! let plan = history.plan(&[prompt])?;
//! history.restore(&plan, Resolution::Skip)?;
//! assert!(!path.exists());
//! # Ok(())
//! # }
//! ```

mod change_index;
mod check;
mod content_store;
mod file_state;
mod history;
mod path_text;
mod place;
mod plan;
mod restore;
mod undo;
mod work_tree;

pub use change_index::{Change, ChangeSource};
pub use check::HistoryCheck;
pub use content_store::ContentId;
pub use file_state::{CapturedFile, FileState};
pub use history::{ChangeCause, FileHistory, Position};
pub use plan::{FileCondition, PlannedFile, RestorePlan};
pub use restore::{Resolution, RestoreReport};
pub use work_tree::WorkTree;
