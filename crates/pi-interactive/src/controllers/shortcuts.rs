//! Extension shortcuts and their conflicts with other keybindings.

use pi_host::ExtensionShortcut;
use pi_tui::{KeyId, Keybindings, action};
use pi_views::keys;

/// Actions whose keys extensions cannot override.
const RESERVED: [&str; 18] = [
    keys::INTERRUPT,
    keys::CLEAR,
    keys::EXIT,
    keys::SUSPEND,
    keys::THINKING_CYCLE,
    keys::MODEL_CYCLE_FORWARD,
    keys::MODEL_CYCLE_BACKWARD,
    keys::MODEL_SELECT,
    keys::TOOLS_EXPAND,
    keys::THINKING_TOGGLE,
    keys::EDITOR_EXTERNAL,
    keys::MESSAGE_COPY,
    keys::MESSAGE_FOLLOW_UP,
    action::INPUT_SUBMIT,
    action::SELECT_CONFIRM,
    action::SELECT_CANCEL,
    action::INPUT_COPY,
    action::EDITOR_DELETE_TO_LINE_END,
];

/// Active shortcuts, and warnings about the others.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ResolvedShortcuts {
    pub(super) shortcuts: Vec<(KeyId, ExtensionShortcut)>,
    pub(super) problems: Vec<String>,
}

/// Resolves conflicts between shortcuts, and with the keybindings.
pub(super) fn resolve(
    requested: Vec<ExtensionShortcut>,
    bindings: &Keybindings,
) -> ResolvedShortcuts {
    let mut resolved = ResolvedShortcuts::default();
    for shortcut in requested {
        let ExtensionShortcut { extension, key, .. } = &shortcut;
        let Ok(id) = key.to_lowercase().parse::<KeyId>() else {
            let problem = format!("{extension}: \"{key}\" is not a valid shortcut key");
            resolved.problems.push(problem);
            continue;
        };
        let taken: Vec<&str> = bindings
            .definitions()
            .iter()
            .filter(|action| bindings.keys(action.id).contains(&id))
            .map(|action| action.id)
            .collect();
        if let Some(reserved) = taken.iter().find(|action| RESERVED.contains(action)) {
            let problem = format!("{extension}: shortcut {key} ignored: reserved for {reserved}");
            resolved.problems.push(problem);
            continue;
        }
        if let Some(action) = taken.first() {
            let problem = format!("{extension}: shortcut {key} overrides {action}");
            resolved.problems.push(problem);
        }
        let same = resolved
            .shortcuts
            .iter()
            .position(|(known, _)| *known == id);
        if let Some(position) = same {
            let (_, before) = resolved.shortcuts.remove(position);
            let problem = format!(
                "{extension}: shortcut {key} overrides the one from {}",
                before.extension
            );
            resolved.problems.push(problem);
        }
        resolved.shortcuts.push((id, shortcut));
    }
    resolved
}

#[cfg(test)]
mod tests {
    use pi_tui::{Platform, UserKeybindings};
    use pretty_assertions::assert_eq;

    use super::*;

    fn shortcut(extension: &str, key: &str) -> ExtensionShortcut {
        ExtensionShortcut {
            extension: extension.to_owned(),
            key: key.to_owned(),
            description: None,
        }
    }

    #[test]
    fn reserved_keys_are_kept_and_the_last_shortcut_of_a_key_wins() {
        let bindings = keys::keybindings(Platform::Linux, &UserKeybindings::default());
        let resolved = resolve(
            vec![
                shortcut("a.ts", "Ctrl+Shift+X"),
                shortcut("a.ts", "ctrl+c"),
                shortcut("a.ts", "ctrl+u"),
                shortcut("b.ts", "ctrl+shift+x"),
                shortcut("b.ts", "no such key"),
            ],
            &bindings,
        );
        let active: Vec<&str> = resolved
            .shortcuts
            .iter()
            .map(|(_, shortcut)| shortcut.key.as_str())
            .collect();
        assert_eq!(active, ["ctrl+u", "ctrl+shift+x"]);
        assert_eq!(
            resolved.problems,
            [
                "a.ts: shortcut ctrl+c ignored: reserved for tui.input.copy",
                "a.ts: shortcut ctrl+u overrides tui.editor.deleteToLineStart",
                "b.ts: shortcut ctrl+shift+x overrides the one from a.ts",
                "b.ts: \"no such key\" is not a valid shortcut key",
            ]
        );
    }
}
