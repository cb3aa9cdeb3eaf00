//! `/llama`: lists, loads, unloads and downloads models of a llama.cpp router.
//!
//! Other clients may use the same router: its models are listed again before every choice, and nothing is
//! unloaded without confirmation.

use pi_protocol::{ErrorClass, ProviderError};
use pi_providers::{LlamaModel, LlamaRouter, LlamaState};

use super::App;
use super::questions::ProgressHandle;
use super::sign_in::single_provider;
use crate::dialogs::QuestionOptions;
use crate::transcript::NoticeLevel;

const PROVIDER: &str = "llama.cpp";

impl App {
    /// Finds the router and lists its models.
    pub(crate) fn open_llama(&mut self) {
        let models = self.session.models().clone();
        let work = async move { models.llama_router().await };
        self.spawn(work, |app, router| match router {
            Ok(Some(router)) => app.list_llama(router),
            Ok(None) => app.notify(
                NoticeLevel::Warning,
                format!("No llama.cpp server configured. Run /login {PROVIDER} to add one."),
            ),
            Err(error) => app.error(error.message),
        });
    }

    fn list_llama(&mut self, router: LlamaRouter) {
        let client = router.clone();
        let models = self.session.models().clone();
        let work = async move {
            let listed = client.models().await?;
            // Loaded models become available in `/model`.
            let report = models.refresh(single_provider(PROVIDER)).await;
            for (provider, error) in report.errors {
                tracing::warn!(provider, %error, "cannot list models");
            }
            Ok(listed)
        };
        self.spawn(work, |app, listed: Result<_, ProviderError>| {
            app.model_changed();
            match listed {
                Ok(listed) => app.choose_llama(router, listed),
                Err(error) => app.offer_llama_retry(router, &error),
            }
        });
    }

    fn offer_llama_retry(&mut self, router: LlamaRouter, error: &ProviderError) {
        let question = QuestionOptions {
            title: "llama.cpp server not reachable".to_owned(),
            details: Some(error.message.clone()),
            ..QuestionOptions::default()
        };
        self.ask(question, &["Try again", "Close"], |app, chosen| {
            if chosen == Some(0) {
                app.list_llama(router);
            }
        });
    }

    fn choose_llama(&mut self, router: LlamaRouter, listed: Vec<LlamaModel>) {
        let mut choices: Vec<String> = listed.iter().map(describe).collect();
        choices.push("Download a model…".to_owned());
        let choices: Vec<&str> = choices.iter().map(String::as_str).collect();
        let loaded = listed.iter().filter(|model| model.state.is_in_memory());
        let question = QuestionOptions {
            title: "llama.cpp models".to_owned(),
            details: Some(format!(
                "{}: {} models, {} loaded. Press Enter to load or unload a model.",
                router.address(),
                listed.len(),
                loaded.count(),
            )),
            ..QuestionOptions::default()
        };
        self.ask(question, &choices, move |app, chosen| {
            let Some(chosen) = chosen else {
                return;
            };
            match listed.get(chosen).cloned() {
                None => app.ask_download(router),
                Some(model) => match model.state {
                    LlamaState::Loaded | LlamaState::Sleeping => app.ask_unload(router, model.id),
                    LlamaState::Unloaded | LlamaState::Failed => {
                        app.ask_load(router, &listed, model.id);
                    }
                    _ => {
                        app.status(format!("{} is {}", model.id, model.state.as_str()));
                        app.list_llama(router);
                    }
                },
            }
        });
    }

    fn ask_unload(&mut self, router: LlamaRouter, model: String) {
        let question = QuestionOptions {
            title: "Unload this model?".to_owned(),
            details: Some(format!(
                "Frees the memory used by {model}. The model file is kept."
            )),
            ..QuestionOptions::default()
        };
        self.ask(question, &["Unload", "Cancel"], move |app, chosen| {
            if chosen != Some(0) {
                return app.list_llama(router);
            }
            let on_cancel = |app: &mut Self| app.status("Unloading continues on the server");
            let work = app.show_progress("Unloading", &model, on_cancel);
            let (client, progress_handle, name) = (router.clone(), work.clone(), model.clone());
            let unload = async move { client.unload(&name, &progress_handle.cancel).await };
            app.spawn(unload, move |app, outcome| {
                app.finish_llama(router, &work, outcome, format!("Unloaded {model}"));
            });
        });
    }

    fn ask_load(&mut self, router: LlamaRouter, listed: &[LlamaModel], model: String) {
        let others = listed.iter().filter(|other| other.state.is_in_memory());
        let others: Vec<String> = others.map(|other| other.id.clone()).collect();
        if others.is_empty() {
            return self.load_llama(router, model, Vec::new());
        }
        let question = QuestionOptions {
            title: "Other models are loaded".to_owned(),
            details: Some(others.join("\n")),
            ..QuestionOptions::default()
        };
        let choices = ["Unload them first", "Keep them loaded", "Cancel"];
        self.ask(question, &choices, move |app, chosen| match chosen {
            Some(0) => app.load_llama(router, model, others),
            Some(1) => app.load_llama(router, model, Vec::new()),
            _ => app.list_llama(router),
        });
    }

    /// Loads a model after unloading others; if loading fails, the others are loaded again.
    fn load_llama(&mut self, router: LlamaRouter, model: String, replaced: Vec<String>) {
        let on_cancel = |app: &mut Self| app.status("Loading canceled");
        let work = self.show_progress("Loading", &model, on_cancel);
        let (client, progress_handle, name) = (router.clone(), work.clone(), model.clone());
        let load = async move {
            let cancel = &progress_handle.cancel;
            for other in &replaced {
                progress_handle.report(format!("Unloading {other}"), None);
                client.unload(other, cancel).await?;
            }
            let progress = |progress: pi_providers::LlamaProgress| {
                progress_handle.report(progress.message, progress.fraction);
            };
            let outcome = client.load(&name, progress, cancel).await;
            if outcome.is_err() {
                if cancel.is_cancelled() {
                    client.cancel(&name).await?;
                }
                let restoring = tokio_util::sync::CancellationToken::new();
                for other in &replaced {
                    progress_handle.report(format!("Reloading {other}"), None);
                    client.load(other, |_| {}, &restoring).await?;
                }
            }
            outcome
        };
        self.spawn(load, move |app, outcome| {
            app.finish_llama(
                router,
                &work,
                outcome,
                format!("Loaded {model}. Select it with /model."),
            );
        });
    }

    fn ask_download(&mut self, router: LlamaRouter) {
        let question = QuestionOptions {
            title: "Download a model".to_owned(),
            details: Some(
                "Hugging Face model as owner/repository[:quantization]. The server downloads it. Gated repositories require HF_TOKEN in the server's environment."
                    .to_owned(),
            ),
            ..QuestionOptions::default()
        };
        let example = "ggml-org/gemma-3-4b-it-GGUF:Q4_K_M";
        self.ask_line(question, example, |app, name| {
            let name = name.unwrap_or_default().trim().to_owned();
            if is_repository(&name) {
                return app.download_llama(router, name);
            }
            if !name.is_empty() {
                app.error(format!("{name} is not a valid owner/repository"));
            }
            app.list_llama(router);
        });
    }

    fn download_llama(&mut self, router: LlamaRouter, model: String) {
        let on_cancel = |app: &mut Self| app.status("Download canceled");
        let work = self.show_progress("Downloading", &model, on_cancel);
        let (client, progress_handle, name) = (router.clone(), work.clone(), model.clone());
        let download = async move {
            let progress = |progress: pi_providers::LlamaProgress| {
                progress_handle.report(progress.message, progress.fraction);
            };
            let outcome = client
                .download(&name, progress, &progress_handle.cancel)
                .await;
            if progress_handle.cancel.is_cancelled() {
                client.cancel(&name).await?;
            }
            outcome
        };
        self.spawn(download, move |app, outcome| {
            app.finish_llama(router, &work, outcome, format!("Downloaded {model}"));
        });
    }

    /// Reports the outcome of an operation and lists the models again.
    fn finish_llama(
        &mut self,
        router: LlamaRouter,
        work: &ProgressHandle,
        outcome: Result<(), ProviderError>,
        done: String,
    ) {
        self.finish_progress(work);
        match outcome {
            Ok(()) => self.status(done),
            Err(error) if error.class == ErrorClass::Aborted => {}
            Err(error) => self.error(error.message),
        }
        // After a cancellation the user may be doing something else by now.
        if !self.screen.has_dialog() {
            self.list_llama(router);
        }
    }
}

/// Returns the list label of a model.
fn describe(model: &LlamaModel) -> String {
    let state = model.state.as_str();
    let context = model.context.filter(|_| model.state.is_in_memory());
    match context {
        None => format!("{} · {state}", model.id),
        Some(short @ 0..1000) => format!("{} · {state} · {short} context", model.id),
        Some(long) => format!("{} · {state} · {}k context", model.id, (long + 500) / 1000),
    }
}

/// Returns whether a name is `owner/repository[:quantization]`.
fn is_repository(name: &str) -> bool {
    let (repository, quantization) = match name.split_once(':') {
        Some((repository, quantization)) => (repository, Some(quantization)),
        None => (name, None),
    };
    let is_word = |word: &str| {
        !word.is_empty()
            && word
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte))
    };
    repository
        .split_once('/')
        .is_some_and(|(owner, name)| is_word(owner) && is_word(name))
        && quantization.is_none_or(is_word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hugging_face_names_are_recognized() {
        for name in ["owner/model", "ggml-org/gemma-3-4b-it-GGUF:Q4_K_M"] {
            assert!(is_repository(name), "{name}");
        }
        for name in [
            "",
            "model",
            "a/b/c",
            "a/b:",
            "a b/c",
            "https://x/y",
            "a/..:x y",
        ] {
            assert!(!is_repository(name), "{name}");
        }
    }
}
