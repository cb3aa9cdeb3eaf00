//! Test environment: a temporary directory of extension files, an engine and a recording host.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use pi_ext::{
    CallOptions, ConsoleLine, Engine, EngineError, EngineHost, EngineLimits, EngineOptions,
    ExtensionFault, HostError, HostFuture, ProcessInfo,
};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::mpsc;

/// A host that records console output and faults, and echoes method calls.
pub(crate) struct EchoHost {
    pub(crate) lines: Mutex<Vec<ConsoleLine>>,
    faults: mpsc::UnboundedSender<ExtensionFault>,
}

impl EngineHost for EchoHost {
    fn console(&self, line: ConsoleLine) {
        self.lines.lock().unwrap().push(line);
    }

    fn fault(&self, fault: ExtensionFault) {
        drop(self.faults.send(fault));
    }

    fn call(
        &self,
        extension: Option<&str>,
        method: &str,
        arguments: Value,
    ) -> Result<Value, HostError> {
        match method {
            "fail" => Err(HostError::new("host error")),
            _ => Ok(json!([extension, method, arguments])),
        }
    }

    fn request(&self, extension: Option<&str>, method: &str, arguments: Value) -> HostFuture {
        let response = self.call(extension, method, arguments);
        Box::pin(async move {
            tokio::task::yield_now().await;
            response
        })
    }
}

/// An engine with a temporary directory of files.
pub(crate) struct EngineEnv {
    pub(crate) engine: Engine,
    pub(crate) host: Arc<EchoHost>,
    pub(crate) faults: mpsc::UnboundedReceiver<ExtensionFault>,
    pub(crate) root: PathBuf,
    _directory: TempDir,
}

pub(crate) fn write(path: &Path, content: impl AsRef<[u8]>) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::io::Write::write_all(&mut std::fs::File::create(path).unwrap(), content.as_ref()).unwrap();
}

impl EngineEnv {
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        Self::with_options(files, |options| options)
    }

    pub(crate) fn with_limits(files: &[(&str, &str)], limits: EngineLimits) -> Self {
        Self::with_options(files, |options| options.with_limits(limits))
    }

    pub(crate) fn with_options(
        files: &[(&str, &str)],
        change: impl FnOnce(EngineOptions) -> EngineOptions,
    ) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let root = std::fs::canonicalize(directory.path()).unwrap();
        for (name, content) in files {
            write(&root.join(name), content);
        }
        let (sender, faults) = mpsc::unbounded_channel();
        let host = Arc::new(EchoHost {
            lines: Mutex::default(),
            faults: sender,
        });
        let path = std::env::var("PATH").unwrap_or_default();
        let options = EngineOptions::new(Arc::clone(&host) as Arc<dyn EngineHost>).with_process(
            ProcessInfo {
                working_directory: root.clone(),
                environment: vec![
                    ("PATH".to_owned(), path),
                    ("HOME".to_owned(), root.to_string_lossy().into_owned()),
                    ("GREETING".to_owned(), "hello".to_owned()),
                ],
                arguments: vec!["pi".to_owned(), "--print".to_owned()],
                executable: PathBuf::from("/usr/bin/pi"),
            },
        );
        Self {
            engine: Engine::new(change(options)),
            host,
            faults,
            root,
            _directory: directory,
        }
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.root.join(name).to_string_lossy().into_owned()
    }

    pub(crate) async fn load(&self, name: &str) -> Result<(), EngineError> {
        self.engine.load(&self.root.join(name)).await
    }

    /// Calls a function exported by a file, loading the file if necessary.
    pub(crate) async fn call(&self, name: &str, export: &str) -> Result<Value, EngineError> {
        let path = self.path(name);
        let options = CallOptions::for_extension(path.clone());
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

/// Runs the body of an async function in a new engine and returns its result.
pub(crate) async fn evaluate(body: &str) -> Value {
    let source = format!("export async function run() {{\n{body}\n}}\n");
    let env = EngineEnv::new(&[("main.ts", &source)]);
    match env.call("main.ts", "run").await {
        Ok(value) => value,
        Err(EngineError::Exception(thrown)) => {
            panic!("{thrown}\n{}", thrown.stack.as_deref().unwrap_or_default())
        }
        Err(error) => panic!("{error}"),
    }
}
