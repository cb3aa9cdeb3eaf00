//! A folder with an extension in it, an engine, and a host that remembers.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use pi_ext::{
    Budgets, CallOptions, ConsoleLine, Engine, EngineError, EngineOptions, Fault, Host, HostError,
    HostFuture, ProcessInfo,
};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::mpsc;

/// A host that keeps what it is told, and whose methods echo.
pub(crate) struct Recorder {
    pub(crate) lines: Mutex<Vec<ConsoleLine>>,
    faults: mpsc::UnboundedSender<Fault>,
}

impl Host for Recorder {
    fn console(&self, line: ConsoleLine) {
        self.lines.lock().unwrap().push(line);
    }

    fn fault(&self, fault: Fault) {
        drop(self.faults.send(fault));
    }

    fn call(
        &self,
        extension: Option<&str>,
        method: &str,
        arguments: Value,
    ) -> Result<Value, HostError> {
        match method {
            "fail" => Err(HostError::new("the host says no")),
            _ => Ok(json!([extension, method, arguments])),
        }
    }

    fn request(&self, extension: Option<&str>, method: &str, arguments: Value) -> HostFuture {
        let answer = self.call(extension, method, arguments);
        Box::pin(async move {
            tokio::task::yield_now().await;
            answer
        })
    }
}

/// An engine over a folder of files.
pub(crate) struct World {
    pub(crate) engine: Engine,
    pub(crate) host: Arc<Recorder>,
    pub(crate) faults: mpsc::UnboundedReceiver<Fault>,
    pub(crate) root: PathBuf,
    _folder: TempDir,
}

pub(crate) fn write(path: &Path, content: impl AsRef<[u8]>) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::io::Write::write_all(&mut std::fs::File::create(path).unwrap(), content.as_ref()).unwrap();
}

impl World {
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        Self::with_options(files, |options| options)
    }

    pub(crate) fn with_budgets(files: &[(&str, &str)], budgets: Budgets) -> Self {
        Self::with_options(files, |options| options.with_budgets(budgets))
    }

    pub(crate) fn with_options(
        files: &[(&str, &str)],
        change: impl FnOnce(EngineOptions) -> EngineOptions,
    ) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = std::fs::canonicalize(folder.path()).unwrap();
        for (name, content) in files {
            write(&root.join(name), content);
        }
        let (sender, faults) = mpsc::unbounded_channel();
        let host = Arc::new(Recorder {
            lines: Mutex::default(),
            faults: sender,
        });
        let path = std::env::var("PATH").unwrap_or_default();
        let options =
            EngineOptions::new(Arc::clone(&host) as Arc<dyn Host>).with_process(ProcessInfo {
                working_directory: root.clone(),
                environment: vec![
                    ("PATH".to_owned(), path),
                    ("HOME".to_owned(), root.to_string_lossy().into_owned()),
                    ("GREETING".to_owned(), "hello".to_owned()),
                ],
                arguments: vec!["pi".to_owned(), "--print".to_owned()],
                executable: PathBuf::from("/usr/bin/pi"),
            });
        Self {
            engine: Engine::new(change(options)),
            host,
            faults,
            root,
            _folder: folder,
        }
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.root.join(name).to_string_lossy().into_owned()
    }

    pub(crate) async fn load(&self, name: &str) -> Result<(), EngineError> {
        self.engine.load(&self.root.join(name)).await
    }

    /// Loads a file if need be and calls a function it exports.
    pub(crate) async fn call(&self, name: &str, export: &str) -> Result<Value, EngineError> {
        let path = self.path(name);
        let options = CallOptions::charged_to(path.clone());
        self.engine.call(&path, export, Vec::new(), options).await
    }

    pub(crate) fn printed(&self) -> Vec<String> {
        self.host
            .lines
            .lock()
            .unwrap()
            .iter()
            .map(|line| line.text.clone())
            .collect()
    }
}

/// Runs the body of an async function in a fresh engine and returns its value.
pub(crate) async fn evaluate(body: &str) -> Value {
    let source = format!("export async function run() {{\n{body}\n}}\n");
    let world = World::new(&[("main.ts", &source)]);
    match world.call("main.ts", "run").await {
        Ok(value) => value,
        Err(EngineError::Thrown(thrown)) => {
            panic!("{thrown}\n{}", thrown.stack.as_deref().unwrap_or_default())
        }
        Err(error) => panic!("{error}"),
    }
}
