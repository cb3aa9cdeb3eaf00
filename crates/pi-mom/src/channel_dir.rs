//! The directory of a channel: `log.jsonl`, `MEMORY.md`, `attachments/`, `scratch/` and `skills/`, as the predecessor lays
//! it out. Names that come from users are never used as file names.

use std::io;
use std::path::{Path, PathBuf};

use pi_fs::NewFileMode;

use crate::chat::{ChatService, RemoteFile};
use crate::log::LoggedFile;

/// Longest ID of a channel.
const MAX_ID: usize = 64;

/// Longest extension of a stored attachment.
const MAX_EXTENSION: usize = 8;

/// Longest stored name of an attachment.
const MAX_ORIGINAL: usize = 200;

/// Directory of the bot's own files in the workspace.
pub(crate) const STATE_DIR: &str = ".pi-mom";

const SUBDIRECTORIES: [&str; 3] = ["attachments", "scratch", "skills"];

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ChannelDir {
    workspace: PathBuf,
    id: String,
}

impl ChannelDir {
    /// Returns the directory of a channel; `None` if the ID cannot be a file name.
    pub(crate) fn new(workspace: &Path, id: &str) -> Option<Self> {
        let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        let is_valid = !id.is_empty() && id.len() <= MAX_ID && id.chars().all(is_plain);
        is_valid.then(|| Self {
            workspace: workspace.to_owned(),
            id: id.to_owned(),
        })
    }

    /// Returns the channels of a workspace: the directories with a log.
    pub(crate) fn existing(workspace: &Path) -> io::Result<Vec<Self>> {
        let mut found = Vec::new();
        for entry in std::fs::read_dir(workspace)? {
            let name = entry?.file_name();
            let directory = name.to_str().and_then(|name| Self::new(workspace, name));
            found.extend(directory.filter(|directory| directory.log().is_file()));
        }
        found.sort_by(|a, b| a.id.cmp(&b.id));
        Ok(found)
    }

    pub(crate) fn create(&self) -> io::Result<()> {
        for name in SUBDIRECTORIES {
            std::fs::create_dir_all(self.path().join(name))?;
        }
        pi_fs::private::create_directory(&self.workspace.join(STATE_DIR))
    }

    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    pub(crate) fn workspace(&self) -> &Path {
        &self.workspace
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.workspace.join(&self.id)
    }

    pub(crate) fn log(&self) -> PathBuf {
        self.path().join("log.jsonl")
    }

    pub(crate) fn memory(&self) -> PathBuf {
        self.path().join("MEMORY.md")
    }

    /// The predecessor's session.
    pub(crate) fn old_context(&self) -> PathBuf {
        self.path().join("context.jsonl")
    }

    pub(crate) fn ledger(&self) -> PathBuf {
        self.workspace
            .join(STATE_DIR)
            .join(format!("{}.jsonl", self.id))
    }

    /// Returns where the files of a message are stored. Names are generated; only a short extension is kept.
    pub(crate) fn attachments(&self, time_ms: i64, files: &[RemoteFile]) -> Vec<LoggedFile> {
        let stored = files.iter().enumerate().map(|(index, file)| {
            let extension = extension(&file.name);
            LoggedFile {
                original: file.name.chars().take(MAX_ORIGINAL).collect(),
                local: format!("{}/attachments/{time_ms}_{index}{extension}", self.id),
                url: Some(file.url.clone()),
            }
        });
        stored.collect()
    }

    /// Downloads the files that are missing, and returns what failed.
    pub(crate) async fn download(
        &self,
        service: &dyn ChatService,
        files: &[LoggedFile],
        limit: u64,
    ) -> Vec<String> {
        let mut failed = Vec::new();
        for file in files {
            let path = self.workspace.join(&file.local);
            // A log that was edited must not lead out of the directory.
            let is_inside = path.parent() == Some(&*self.path().join("attachments"));
            let Some(url) = file.url.as_deref().filter(|_| is_inside && !path.exists()) else {
                continue;
            };
            let stored = match service.download(url, limit).await {
                Ok(bytes) => pi_fs::atomic_file::write(&path, &bytes, NewFileMode::Default)
                    .map_err(|error| error.to_string()),
                Err(error) => Err(error.to_string()),
            };
            if let Err(reason) = stored {
                failed.push(format!("{}: {reason}", file.local));
            }
        }
        failed
    }
}

fn extension(name: &str) -> String {
    let Some((_, extension)) = name.rsplit_once('.') else {
        return String::new();
    };
    let is_plain = extension.chars().all(|c| c.is_ascii_alphanumeric());
    if extension.is_empty() || extension.len() > MAX_EXTENSION || !is_plain {
        return String::new();
    }
    format!(".{}", extension.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn ids_that_lead_out_are_rejected() {
        let workspace = Path::new("/w");
        for id in ["", "..", "a/b", "a.b", ".pi-mom", "C\n", &"x".repeat(65)] {
            assert_eq!(ChannelDir::new(workspace, id), None, "{id:?}");
        }
        assert!(ChannelDir::new(workspace, "C0123_ab-4").is_some());
    }

    #[test]
    fn attachments_have_generated_names() {
        let directory = ChannelDir::new(Path::new("/w"), "C1").unwrap();
        let names = [
            "../../x.PNG",
            "a.tar.gz",
            "no",
            "evil.sh\n",
            "x.",
            "long.abcdefghi",
        ];
        let files = names.map(|name| RemoteFile {
            name: name.to_owned(),
            url: "u".to_owned(),
            size: None,
        });
        let stored = directory.attachments(12, &files);
        let stored: Vec<&str> = stored.iter().map(|file| file.local.as_str()).collect();
        assert_eq!(
            stored,
            ["12_0.png", "12_1.gz", "12_2", "12_3", "12_4", "12_5"]
                .map(|name| format!("C1/attachments/{name}"))
        );
    }
}
