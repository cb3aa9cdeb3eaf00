//! A session tree without a session: entries with parents, and tools that change files.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};

use pi_checkpoint::{CapturedFile, ChangeCause, FileHistory, FileState, Position, WorkTree};
use pi_protocol::EntryId;
use tempfile::TempDir;

pub(crate) type Files = BTreeMap<PathBuf, FileState>;

pub(crate) struct SimulatedSession {
    pub(crate) history: FileHistory,
    /// What the files are at each entry.
    pub(crate) copies: HashMap<EntryId, Files>,
    parents: HashMap<EntryId, Option<EntryId>>,
    pub(crate) entries: Vec<EntryId>,
    pub(crate) leaf: Option<EntryId>,
    turn: EntryId,
    directory: TempDir,
}

impl SimulatedSession {
    pub(crate) fn new() -> Self {
        Self::with_limit(u64::MAX)
    }

    pub(crate) fn with_limit(max_bytes: u64) -> Self {
        let directory = tempfile::tempdir().unwrap();
        fs::create_dir(directory.path().join("project")).unwrap();
        let history = FileHistory::open(&directory.path().join("s.files"), max_bytes).unwrap();
        Self {
            history,
            copies: HashMap::new(),
            parents: HashMap::new(),
            entries: Vec::new(),
            leaf: None,
            turn: EntryId::from(""),
            directory,
        }
    }

    pub(crate) fn store(&self) -> PathBuf {
        self.directory.path().join("s.files")
    }

    /// The directory that tools work in.
    pub(crate) fn project(&self) -> PathBuf {
        let path = self.directory.path().join("project");
        path.canonicalize().unwrap()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.project().join(name)
    }

    fn add_entry(&mut self) -> EntryId {
        let id = EntryId::from(format!("entry{}", self.entries.len()).as_str());
        self.parents.insert(id.clone(), self.leaf.take());
        self.entries.push(id.clone());
        self.leaf = Some(id.clone());
        id
    }

    pub(crate) fn prompt(&mut self) -> EntryId {
        self.turn = self.add_entry();
        self.copies.insert(self.turn.clone(), self.files());
        self.turn.clone()
    }

    /// Runs a tool that changes some paths, and stores its result.
    pub(crate) fn call(&mut self, paths: &[PathBuf], change: impl FnOnce()) -> EntryId {
        // Some providers number the calls of each response.
        let call = "call_0".to_owned();
        let before: Vec<_> = paths.iter().map(|path| read(path)).collect();
        change();
        let branch = self.branch(self.leaf.as_ref().unwrap());
        let at = Position {
            branch: &branch,
            turn: &self.turn,
        };
        for (path, before) in paths.iter().zip(before) {
            let cause = ChangeCause::Tool { call: &call };
            self.history
                .record(&at, cause, path, &before, &read(path))
                .unwrap();
        }
        let entry = self.add_entry();
        self.history.bind(&call, &self.turn, &entry).unwrap();
        self.copies.insert(entry.clone(), self.files());
        entry
    }

    /// Runs a shell command, with scans before and after it, and stores its result.
    pub(crate) fn command(&mut self, tree: &mut WorkTree, change: impl FnOnce()) -> EntryId {
        // Some providers number the calls of each response.
        let call = "call_0".to_owned();
        let branch = self.branch(self.leaf.as_ref().unwrap());
        let at = Position {
            branch: &branch,
            turn: &self.turn,
        };
        tree.scan(&mut self.history, &at, ChangeCause::Other)
            .unwrap();
        change();
        let cause = ChangeCause::Tool { call: &call };
        tree.scan(&mut self.history, &at, cause).unwrap();
        let entry = self.add_entry();
        self.history.bind(&call, &self.turn, &entry).unwrap();
        self.copies.insert(entry.clone(), self.files());
        entry
    }

    pub(crate) fn write(&mut self, name: &str, contents: &str) -> EntryId {
        let path = self.path(name);
        self.call(std::slice::from_ref(&path), || write(&path, contents))
    }

    pub(crate) fn end_turn(&mut self) {
        let branch = self.branch(self.leaf.as_ref().unwrap());
        let at = Position {
            branch: &branch,
            turn: &self.turn,
        };
        self.history.follow_move(&at).unwrap();
    }

    pub(crate) fn branch(&self, to: &EntryId) -> Vec<EntryId> {
        let parents = std::iter::successors(Some(to.clone()), |id| self.parents[id].clone());
        let mut branch: Vec<_> = parents.collect();
        branch.reverse();
        branch
    }

    pub(crate) fn files(&self) -> Files {
        let mut files = Files::new();
        collect(&self.project(), &mut files);
        files
    }
}

pub(crate) fn read(path: &Path) -> CapturedFile {
    CapturedFile::read(path).unwrap()
}

pub(crate) fn write(path: &Path, contents: &str) {
    write_bytes(path, contents.as_bytes());
}

pub(crate) fn write_bytes(path: &Path, contents: &[u8]) {
    use std::io::Write as _;

    let mut file = fs::File::create(path).unwrap();
    file.write_all(contents).unwrap();
}

pub(crate) fn text(path: &Path) -> Option<String> {
    fs::read_to_string(path).ok()
}

fn collect(directory: &Path, files: &mut Files) {
    let Ok(found) = fs::read_dir(directory) else {
        // It has no permissions.
        return;
    };
    for found in found {
        let path = found.unwrap().path();
        if path.ends_with(".git") {
            continue;
        }
        let state = read(&path).state;
        if matches!(state, FileState::Directory { .. }) {
            collect(&path, files);
        }
        files.insert(path, state);
    }
}
