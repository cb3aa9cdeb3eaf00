//! `pods.json`: the pods, their GPUs and the models that run on them. The format is that of the TypeScript `pi-pods`, with
//! a few more fields; unknown fields are kept.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use pi_fs::{LockDir, LockError, LockTiming, NewFileMode, atomic_file, private};
use pi_protocol::json::JsonObject;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct PodsConfig {
    #[serde(default)]
    pub(crate) pods: BTreeMap<String, Pod>,
    /// The pod that commands use unless they name another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) active: Option<String>,
    #[serde(flatten)]
    extra: JsonObject,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct Pod {
    /// The ssh command, such as `ssh -p 2222 root@10.0.0.1`.
    pub(crate) ssh: String,
    pub(crate) gpus: Vec<Gpu>,
    /// By name.
    pub(crate) models: BTreeMap<String, RunningModel>,
    /// Directory of downloaded models on the pod.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) models_path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) vllm_version: Option<String>,
    #[serde(flatten)]
    pub(crate) extra: JsonObject,
}

#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Gpu {
    pub(crate) id: u32,
    pub(crate) name: String,
    /// As `nvidia-smi` prints it.
    pub(crate) memory: String,
    #[serde(flatten)]
    pub(crate) extra: JsonObject,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct RunningModel {
    /// ID on the model hub, or a path on the pod.
    pub(crate) model: String,
    /// On the pod's loopback interface.
    pub(crate) port: u16,
    /// Empty if vLLM chooses.
    pub(crate) gpu: Vec<u32>,
    /// The process group on the pod.
    pub(crate) pid: u32,
    /// Where the tunnel listens on this machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) local_port: Option<u16>,
    /// Share of the memory of each GPU.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) memory: Option<f64>,
    /// In tokens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) context_window: Option<u64>,
    #[serde(flatten)]
    pub(crate) extra: JsonObject,
}

#[derive(Debug, thiserror::Error)]
pub(crate) enum PodsFileError {
    #[error("cannot {action} pods: {}: {source}", file.display())]
    Io {
        action: &'static str,
        file: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("cannot read pods: {}: {source}", file.display())]
    Malformed {
        file: PathBuf,
        #[source]
        source: serde_json::Error,
    },
    #[error("cannot write pods: {} is locked by another process", file.display())]
    Locked { file: PathBuf },
}

/// The file; nothing is read until needed.
#[derive(Debug, Clone)]
pub(crate) struct PodsFile(PathBuf);

impl PodsFile {
    pub(crate) fn new(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    /// Reads the file; without one there are no pods.
    pub(crate) fn read(&self) -> Result<PodsConfig, PodsFileError> {
        let text = match std::fs::read_to_string(&self.0) {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(PodsConfig::default());
            }
            Err(error) => return Err(self.failed("read", error)),
        };
        serde_json::from_str(&text).map_err(|source| PodsFileError::Malformed {
            file: self.0.clone(),
            source,
        })
    }

    /// Changes the file under its lock. A malformed file is kept.
    pub(crate) fn change<T>(
        &self,
        change: impl FnOnce(&mut PodsConfig) -> T,
    ) -> Result<T, PodsFileError> {
        if let Some(directory) = self.0.parent() {
            private::create_directory(directory).map_err(|error| self.failed("write", error))?;
        }
        let lock = LockDir::acquire(&self.0, LockTiming::SETTINGS);
        let lock = lock.map_err(|error| match error {
            LockError::Held => self.locked(),
            LockError::Io(error) => self.failed("lock", error),
        })?;
        let mut config = self.read()?;
        let result = change(&mut config);
        let text = serde_json::to_vec_pretty(&config)
            .map_err(|error| self.failed("write", error.into()))?;
        if !lock.is_held() {
            return Err(self.locked());
        }
        atomic_file::write(&self.0, &text, NewFileMode::Private)
            .map_err(|error| self.failed("write", error))?;
        Ok(result)
    }

    fn locked(&self) -> PodsFileError {
        PodsFileError::Locked {
            file: self.0.clone(),
        }
    }

    fn failed(&self, action: &'static str, source: io::Error) -> PodsFileError {
        PodsFileError::Io {
            action,
            file: self.0.clone(),
            source,
        }
    }
}

/// Whether a text may name a pod or a model: it becomes part of file names, model IDs and provider IDs.
pub(crate) fn is_valid_name(name: &str) -> bool {
    let is_allowed = |it: char| it.is_ascii_alphanumeric() || matches!(it, '.' | '_' | '-');
    (1..=48).contains(&name.len())
        && name.starts_with(|first: char| first.is_ascii_alphanumeric())
        && name.chars().all(is_allowed)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn a_file_of_the_typescript_program_is_kept() {
        let directory = tempfile::tempdir().unwrap();
        let file = PodsFile::new(directory.path().join("pods.json"));
        assert_eq!(file.read().unwrap(), PodsConfig::default());
        let written = json!({
            "pods": {"dc1": {
                "ssh": "ssh root@10.0.0.1",
                "gpus": [{"id": 0, "name": "NVIDIA H200", "memory": "143771 MiB"}],
                "models": {"qwen": {"model": "Qwen/Qwen3-Coder-30B-A3B-Instruct", "port": 8001, "gpu": [0], "pid": 7, "note": "x"}},
                "modelsPath": "/mnt/sfs",
                "vllmVersion": "release",
                "region": "fi",
            }},
            "active": "dc1",
            "later": true,
        });
        atomic_file::write(
            &file.0,
            written.to_string().as_bytes(),
            NewFileMode::Private,
        )
        .unwrap();
        file.change(|config| {
            let qwen = config.pods.get_mut("dc1").unwrap().models.get_mut("qwen");
            qwen.unwrap().local_port = Some(8002);
        })
        .unwrap();
        let mut expected = written;
        expected["pods"]["dc1"]["models"]["qwen"]["localPort"] = json!(8002);
        let text = std::fs::read_to_string(&file.0).unwrap();
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), expected);
    }

    #[test]
    fn a_malformed_file_is_reported_and_kept() {
        let directory = tempfile::tempdir().unwrap();
        let file = PodsFile::new(directory.path().join("pods.json"));
        atomic_file::write(&file.0, b"{\"pods\": [", NewFileMode::Private).unwrap();
        let error = file.change(|config| config.active = None).unwrap_err();
        assert!(error.to_string().contains("cannot read pods: "), "{error}");
        assert_eq!(std::fs::read_to_string(&file.0).unwrap(), "{\"pods\": [");
    }

    #[test]
    fn concurrent_writers_lose_nothing() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("pods.json");
        std::thread::scope(|scope| {
            for writer in 0..4 {
                let file = PodsFile::new(&path);
                scope.spawn(move || {
                    for number in 0..5 {
                        let name = format!("{writer}-{number}");
                        let insert = |config: &mut PodsConfig| {
                            config.pods.insert(name.clone(), Pod::default());
                        };
                        // The lock is not waited for without end.
                        assert!((0..100).any(|_| file.change(insert).is_ok()));
                    }
                });
            }
        });
        assert_eq!(PodsFile::new(&path).read().unwrap().pods.len(), 20);
    }

    #[cfg(target_os = "linux")]
    const PODS_FILE: &str = "PI_TEST_PODS_FILE";

    #[cfg(target_os = "linux")]
    #[test]
    #[ignore = "run by another test as a child process"]
    fn change_with_injected_fault() {
        if let Ok(file) = std::env::var(PODS_FILE)
            && pi_test_support::install_kernel_fault()
        {
            let changed = PodsFile::new(file).change(|it| it.active = Some("b".to_owned()));
            changed.unwrap();
        }
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn change_is_atomic_under_disk_faults() {
        use std::time::{Duration, SystemTime};

        use pi_test_support::{
            DiskFault, DiskOperation, kernel_fault_command, was_killed_by_fault,
        };

        for step in DiskOperation::ALL.into_iter().take(7) {
            for fault in DiskFault::ALL.into_iter().take(4) {
                let case = format!("{fault:?} at {step:?}");
                let directory = tempfile::tempdir().unwrap();
                let file = PodsFile::new(directory.path().join("pods.json"));
                file.change(|config| config.active = Some("a".to_owned()))
                    .unwrap();
                let test = "pods_file::tests::change_with_injected_fault";
                let output = kernel_fault_command(test, step, fault)
                    .env(PODS_FILE, &file.0)
                    .output()
                    .unwrap();
                // The last operation only releases the lock, after the change.
                let is_made = step == DiskOperation::RemoveDir;
                let active = || file.read().unwrap().active;
                let expected = if is_made { "b" } else { "a" };
                assert_eq!(active().as_deref(), Some(expected), "{case}: {output:?}");
                match fault {
                    DiskFault::Kill => assert!(was_killed_by_fault(output.status), "{case}"),
                    _ => assert_eq!(output.status.success(), is_made, "{case}: {output:?}"),
                }
                // What a killed process leaves expires.
                for entry in std::fs::read_dir(directory.path()).unwrap() {
                    let entry = std::fs::File::open(entry.unwrap().path()).unwrap();
                    let long_ago = SystemTime::now() - Duration::from_mins(5);
                    entry.set_modified(long_ago).unwrap();
                }
                file.change(|config| config.active = Some("c".to_owned()))
                    .unwrap();
                assert_eq!(active().as_deref(), Some("c"), "{case}: the next change");
                let left = std::fs::read_dir(directory.path()).unwrap();
                assert_eq!(left.count(), 1, "{case}: all is cleared away");
            }
        }
    }

    #[test]
    fn names_are_plain() {
        for name in ["dc1", "qwen2.5", "a_b-c"] {
            assert!(is_valid_name(name), "{name}");
        }
        let long = "a".repeat(49);
        for name in [
            "", "-x", ".x", "../x", "a b", "a/b", "a@b", "a$(b)", "ü", &long,
        ] {
            assert!(!is_valid_name(name), "{name}");
        }
    }
}
