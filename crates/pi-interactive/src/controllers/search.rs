//! `/search`: lists what a full-text search found, and opens the chosen session.

use std::path::PathBuf;

use pi_protocol::{SessionSearchHit, SessionSearchResults, timestamp};
use pi_views::dialogs::QuestionOptions;
use pi_views::dialogs::intent::QuestionAnswer;

use super::dialogs::{Asker, DialogMsg, DialogRequest};
use super::switching::SwitchMsg;
use crate::app::command::AppCommand;
use crate::session::command::{Replacement, SessionCommand};

#[derive(Debug)]
pub(crate) enum SearchMsg {
    Start(String),
    Found(Result<SessionSearchResults, String>),
    /// Which hit to open.
    Answered(QuestionAnswer),
}

#[derive(Debug, Default)]
pub(crate) struct SearchController {
    /// The session files of the hits that are listed.
    files: Vec<PathBuf>,
}

impl SearchController {
    pub(crate) fn update(&mut self, message: SearchMsg) -> Vec<AppCommand> {
        match message {
            SearchMsg::Start(query) if query.is_empty() => {
                vec![AppCommand::status("Usage: /search <words>")]
            }
            SearchMsg::Start(query) => {
                vec![AppCommand::Session(SessionCommand::SearchSessions {
                    query,
                })]
            }
            SearchMsg::Found(Ok(found)) => vec![self.list(&found)],
            SearchMsg::Found(Err(message)) => vec![AppCommand::error(message)],
            SearchMsg::Answered(QuestionAnswer::Chosen(position)) => {
                let file = self.files.get(position).cloned();
                let resume = |file| SwitchMsg::Replace(Replacement::Resume(file));
                file.map(|file| AppCommand::send(resume(file)))
                    .into_iter()
                    .collect()
            }
            SearchMsg::Answered(_) => Vec::new(),
        }
    }

    fn list(&mut self, found: &SessionSearchResults) -> AppCommand {
        let progress = found
            .indexing
            .as_ref()
            .map_or_else(String::new, |progress| {
                let percent = (progress.done * 100).checked_div(progress.total);
                format!(" (indexing sessions: {} %)", percent.unwrap_or_default())
            });
        if found.hits.is_empty() {
            return AppCommand::status(format!("No matches{progress}"));
        }
        self.files = found.hits.iter().map(|hit| hit.path.clone()).collect();
        let choices = found.hits.iter().map(line).collect();
        let title = format!("{} matches{progress}", found.total);
        AppCommand::send(DialogMsg::Ask {
            request: DialogRequest::Choose {
                question: QuestionOptions {
                    title,
                    ..QuestionOptions::default()
                },
                choices,
            },
            asker: Asker::Search,
        })
    }
}

/// Returns date, title and snippet of a hit.
fn line(hit: &SessionSearchHit) -> String {
    let date = hit.timestamp_ms.map(timestamp::to_iso).unwrap_or_default();
    let date = date.get(..10).unwrap_or_default();
    let title: String = hit
        .title
        .iter()
        .flat_map(|title| title.chars().take(24))
        .collect();
    let snippet: String = hit.snippet.iter().map(|part| part.text.as_str()).collect();
    format!("{date} {title:24} {snippet}")
}

#[cfg(test)]
mod tests {
    use pi_protocol::{SearchRole, SnippetPart};

    use super::*;

    fn hit(path: &str) -> SessionSearchHit {
        SessionSearchHit {
            path: PathBuf::from(path),
            session_id: "s".to_owned(),
            cwd: "/p".to_owned(),
            title: Some("a title".to_owned()),
            entry_id: "e".to_owned(),
            role: SearchRole::User,
            timestamp_ms: Some(0),
            snippet: vec![SnippetPart {
                text: "the retry".to_owned(),
                is_match: true,
            }],
        }
    }

    #[test]
    fn the_session_of_a_hit_is_opened() {
        let mut search = SearchController::default();
        let found = SessionSearchResults {
            hits: vec![hit("/a.jsonl"), hit("/b.jsonl")],
            total: 2,
            indexing: None,
        };
        let listed = search.update(SearchMsg::Found(Ok(found)));
        assert!(
            format!("{listed:?}").contains("1970-01-01 a title"),
            "{listed:?}"
        );
        let opened = search.update(SearchMsg::Answered(QuestionAnswer::Chosen(1)));
        assert!(format!("{opened:?}").contains("/b.jsonl"), "{opened:?}");
        assert!(
            search
                .update(SearchMsg::Answered(QuestionAnswer::Dismissed))
                .is_empty()
        );
        let none = search.update(SearchMsg::Found(Ok(SessionSearchResults::default())));
        assert!(format!("{none:?}").contains("No matches"), "{none:?}");
    }
}
