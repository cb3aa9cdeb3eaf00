//! What a line in the log of a model means. Data in, data out.

/// What happened to a model, as its log shows it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) enum ModelState {
    #[default]
    Starting,
    Ready,
    OutOfMemory,
    Failed(Failure),
    /// Ended without an error.
    Stopped,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The hub needs a token, or one with access to the model.
    NoAccess,
    Download,
    DiskFull,
    Engine,
    Arguments,
    Exit,
}

impl Failure {
    fn reason(self) -> &'static str {
        match self {
            Self::NoAccess => "the model hub denies access to the model",
            Self::Download => "the model could not be downloaded",
            Self::DiskFull => "the disk of the pod is full",
            Self::Engine => "the engine of vLLM could not start",
            Self::Arguments => "vLLM rejects its arguments",
            Self::Exit => "vLLM has ended with an error",
        }
    }
}

/// Texts of log lines, the most specific first.
const TABLE: [(&str, ModelState); 15] = [
    ("Application startup complete", ModelState::Ready),
    ("torch.OutOfMemoryError", ModelState::OutOfMemory),
    ("CUDA out of memory", ModelState::OutOfMemory),
    (
        "No available memory for the cache blocks",
        ModelState::OutOfMemory,
    ),
    (
        "than the available KV cache memory",
        ModelState::OutOfMemory,
    ),
    (
        "is less than desired GPU memory utilization",
        ModelState::OutOfMemory,
    ),
    (
        "No space left on device",
        ModelState::Failed(Failure::DiskFull),
    ),
    ("GatedRepoError", ModelState::Failed(Failure::NoAccess)),
    ("401 Client Error", ModelState::Failed(Failure::NoAccess)),
    (
        "RepositoryNotFoundError",
        ModelState::Failed(Failure::NoAccess),
    ),
    (
        "error: unrecognized arguments",
        ModelState::Failed(Failure::Arguments),
    ),
    ("error: argument", ModelState::Failed(Failure::Arguments)),
    (
        "Engine core initialization failed",
        ModelState::Failed(Failure::Engine),
    ),
    (
        "pi-pods: download failed",
        ModelState::Failed(Failure::Download),
    ),
    ("pi-pods: exited with code 0", ModelState::Stopped),
];

/// Printed by the runner when vLLM has ended.
const EXITED: &str = "pi-pods: exited with code ";

fn classify(line: &str) -> Option<ModelState> {
    let known = TABLE.into_iter().find(|(text, _)| line.contains(text));
    let exited = || {
        line.starts_with(EXITED)
            .then_some(ModelState::Failed(Failure::Exit))
    };
    known.map(|(_, state)| state).or_else(exited)
}

impl ModelState {
    /// Applies a line. The first cause of a failure stays: what follows it are its effects.
    pub(crate) fn read(&mut self, line: &str) {
        let Some(next) = classify(line) else {
            return;
        };
        match self {
            Self::Starting | Self::Stopped => *self = next,
            Self::Ready if next != Self::Ready => *self = next,
            Self::Ready | Self::OutOfMemory | Self::Failed(_) => {}
        }
    }

    /// Returns why the model does not run.
    pub(crate) fn failure(&self) -> Option<&'static str> {
        match self {
            Self::Starting | Self::Ready => None,
            Self::OutOfMemory => Some("the GPUs have too little memory"),
            Self::Failed(failure) => Some(failure.reason()),
            Self::Stopped => Some("vLLM has ended"),
        }
    }

    pub(crate) fn hint(&self) -> Option<&'static str> {
        match self {
            Self::OutOfMemory => Some(
                "use a smaller context (--context 16k), more GPUs (--gpus), less memory if other programs use the GPU \
                 (--memory 50%), or a quantized model (FP8)",
            ),
            Self::Failed(Failure::NoAccess) => {
                Some("set HF_TOKEN to a token with access to the model, and check its name")
            }
            Self::Failed(Failure::DiskFull) => {
                Some("remove downloaded models, or choose another --models-path")
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn state(log: &str) -> ModelState {
        let mut state = ModelState::default();
        log.lines().for_each(|line| state.read(line));
        state
    }

    #[test]
    fn logs_are_classified_by_their_first_cause() {
        for (log, expected) in [
            ("", ModelState::Starting),
            ("Downloading\nLoading safetensors 1/8", ModelState::Starting),
            ("INFO:     Application startup complete.", ModelState::Ready),
            (
                "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2 GiB\nRuntimeError: Engine core initialization failed\npi-pods: exited with code 1",
                ModelState::OutOfMemory,
            ),
            (
                "ValueError: To serve at least one request, 24 GiB KV cache is needed, which is larger than the available KV cache memory (3 GiB)",
                ModelState::OutOfMemory,
            ),
            (
                "huggingface_hub.errors.GatedRepoError: 401 Client Error\npi-pods: download failed",
                ModelState::Failed(Failure::NoAccess),
            ),
            (
                "pi-pods: download failed",
                ModelState::Failed(Failure::Download),
            ),
            (
                "OSError: [Errno 28] No space left on device",
                ModelState::Failed(Failure::DiskFull),
            ),
            (
                "pi-pods: exited with code 137",
                ModelState::Failed(Failure::Exit),
            ),
            (
                "Application startup complete\npi-pods: exited with code 0",
                ModelState::Stopped,
            ),
            (
                "Application startup complete\npi-pods: exited with code 1",
                ModelState::Failed(Failure::Exit),
            ),
            (
                "a prompt that says pi-pods: exited with code 1",
                ModelState::Starting,
            ),
        ] {
            assert_eq!(state(log), expected, "{log}");
        }
    }

    #[test]
    fn failures_have_a_reason_and_hints() {
        let out_of_memory = state("CUDA out of memory");
        assert!(out_of_memory.failure().unwrap().contains("memory"));
        assert!(out_of_memory.hint().unwrap().contains("--context"));
        assert_eq!(state("Application startup complete").failure(), None);
    }
}
