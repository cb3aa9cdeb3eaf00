//! Operations on a llama.cpp router that take time.

use pi_host::LlamaRouter;
use pi_protocol::{ErrorClass, LlamaProgress, ProviderError};
use pi_views::dialogs::ProgressUpdate;
use tokio_util::sync::CancellationToken;

use super::LlamaMsg;
use crate::app::tasks::{AppHandle, AppTask};

/// An operation with a progress dialog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum LlamaWork {
    Unload {
        model: String,
    },
    /// Unloads other models first; if loading fails, they are loaded again.
    Load {
        model: String,
        replaced: Vec<String>,
    },
    Download {
        model: String,
    },
}

impl LlamaWork {
    pub(super) fn title(&self) -> &'static str {
        match self {
            Self::Unload { .. } => "Unloading",
            Self::Load { .. } => "Loading",
            Self::Download { .. } => "Downloading",
        }
    }

    /// What to show when the user dismisses the progress.
    pub(super) fn canceled(&self) -> &'static str {
        match self {
            Self::Unload { .. } => "Unloading continues on the server",
            Self::Load { .. } => "Loading canceled",
            Self::Download { .. } => "Download canceled",
        }
    }

    pub(super) fn model(&self) -> &str {
        match self {
            Self::Unload { model } | Self::Load { model, .. } | Self::Download { model } => model,
        }
    }

    fn done(&self) -> String {
        match self {
            Self::Unload { model } => format!("Unloaded {model}"),
            Self::Load { model, .. } => format!("Loaded {model}. Select it with /model."),
            Self::Download { model } => format!("Downloaded {model}"),
        }
    }

    pub(super) fn task(
        self,
        router: LlamaRouter,
        handle: AppHandle,
        cancel: CancellationToken,
    ) -> AppTask {
        AppTask::new("llama.cpp operation", async move {
            let progress = ProgressReporter(handle);
            let done = self.done();
            let outcome = match &self {
                Self::Unload { model } => router.unload(model, &cancel).await,
                Self::Load { model, replaced } => {
                    load(&router, model, replaced, &progress, &cancel).await
                }
                Self::Download { model } => download(&router, model, &progress, &cancel).await,
            };
            LlamaMsg::Finished {
                outcome: match outcome {
                    Ok(()) => Some(Ok(())),
                    Err(error) if error.class == ErrorClass::Aborted => None,
                    Err(error) => Some(Err(error.message)),
                },
                done,
            }
        })
    }
}

struct ProgressReporter(AppHandle);

impl ProgressReporter {
    /// `share` is the completed fraction from 0 to 1.
    fn report(&self, message: impl Into<String>, share: Option<f64>) {
        let message = message.into();
        self.0
            .post(LlamaMsg::Progress(ProgressUpdate { message, share }));
    }
}

async fn load(
    router: &LlamaRouter,
    model: &str,
    replaced: &[String],
    progress: &ProgressReporter,
    cancel: &CancellationToken,
) -> Result<(), ProviderError> {
    for other in replaced {
        progress.report(format!("Unloading {other}"), None);
        router.unload(other, cancel).await?;
    }
    let on_progress = |step: LlamaProgress| progress.report(step.message, step.fraction);
    let outcome = router.load(model, on_progress, cancel).await;
    if outcome.is_err() {
        if cancel.is_cancelled() {
            router.cancel(model).await?;
        }
        let restoring = CancellationToken::new();
        for other in replaced {
            progress.report(format!("Reloading {other}"), None);
            router.load(other, |_| {}, &restoring).await?;
        }
    }
    outcome
}

async fn download(
    router: &LlamaRouter,
    model: &str,
    progress: &ProgressReporter,
    cancel: &CancellationToken,
) -> Result<(), ProviderError> {
    let on_progress = |step: LlamaProgress| progress.report(step.message, step.fraction);
    let outcome = router.download(model, on_progress, cancel).await;
    if cancel.is_cancelled() {
        router.cancel(model).await?;
    }
    outcome
}
