//! The terminal window title.

use std::path::Path;

use pi_tui::ProgramState;

/// Returns the title for a session: its name, if any, and its directory.
pub(crate) fn of(name: Option<&str>, cwd: &Path) -> String {
    let directory = cwd.file_name().map_or_else(
        || cwd.display().to_string(),
        |name| name.to_string_lossy().into_owned(),
    );
    match name {
        Some(name) => format!("π - {name} - {directory}"),
        None => format!("π - {directory}"),
    }
}

/// The title of the window, with a mark for what the program does, so that a tab shows whether it waits for the user.
#[derive(Debug, Default)]
pub(crate) struct WindowTitle {
    /// Without the mark.
    text: String,
    state: ProgramState,
}

impl WindowTitle {
    /// Sets the text and returns the title.
    pub(crate) fn rename(&mut self, text: String) -> String {
        self.text = text;
        marked(&self.text, self.state)
    }

    /// Sets the state and returns the title if it has changed.
    pub(crate) fn mark(&mut self, state: ProgramState) -> Option<String> {
        let has_changed = self.state != state;
        self.state = state;
        (has_changed && !self.text.is_empty()).then(|| marked(&self.text, state))
    }
}

fn marked(title: &str, state: ProgramState) -> String {
    let mark = match state {
        ProgramState::Idle | ProgramState::Done => return title.to_owned(),
        ProgramState::Working => '●',
        ProgramState::Blocked(_) => '?',
        ProgramState::Error => '✗',
    };
    format!("{mark} {title}")
}

#[cfg(test)]
mod tests {
    use pi_tui::BlockedKind;
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn the_title_shows_the_state() {
        let mut title = WindowTitle::default();
        assert_eq!(title.mark(ProgramState::Done), None);
        title.mark(ProgramState::Idle);
        title.rename(of(Some("Parser"), Path::new("/home/user/project")));
        for (state, expected) in [
            (ProgramState::Working, "● π - Parser - project"),
            (
                ProgramState::Blocked(BlockedKind::Question),
                "? π - Parser - project",
            ),
            (ProgramState::Error, "✗ π - Parser - project"),
            (ProgramState::Idle, "π - Parser - project"),
        ] {
            assert_eq!(title.mark(state).as_deref(), Some(expected));
            assert_eq!(title.mark(state), None);
        }
    }
}
