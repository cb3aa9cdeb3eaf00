//! Extension components on screen.

use std::time::{Duration, Instant};

use pi_host::{ComponentId, ComponentPlacement, ExtensionUi as _, ScreenChange};
use pi_tui::{KeyId, ListenerOutcome};
use pi_views::text::untrusted_text::out_of_band;

use super::{Display, log};
use crate::app::display_command::ExtensionDisplay;
use crate::app::message::AppMsg;
use crate::controllers::extensions::ExtensionMsg;
use crate::extensions::bridge::{ComponentTask, DrawOutcome};
use crate::extensions::view::ExtensionView;
use crate::screen::WidgetSide;
use pi_views::working_indicator::WorkingOverrides;

/// A component that does not respond for this long is considered stuck.
const STUCK_AFTER: Duration = Duration::from_secs(1);

impl Display {
    pub(super) fn perform_extension(&mut self, change: ExtensionDisplay) -> Vec<AppMsg> {
        match change {
            ExtensionDisplay::Reset => return self.reset_extensions(),
            ExtensionDisplay::Change(change) => self.change_screen(change),
            ExtensionDisplay::Widget {
                key,
                lines,
                placement,
            } => {
                self.remove_widget(&key);
                if let Some(lines) = lines {
                    let side = WidgetSide::named(placement.as_deref());
                    self.screen
                        .with_widgets(side, |widgets| widgets.set_lines(key, lines));
                }
            }
            ExtensionDisplay::Working(change) => self.screen.with_working(|working| {
                working.update_overrides(|overrides| change.apply(overrides));
            }),
            ExtensionDisplay::Drawn { id, width, outcome } => {
                return self.drawn(id, width, outcome).into_iter().collect();
            }
            ExtensionDisplay::EditorText(text) => self.editor_text = text,
            ExtensionDisplay::Forward(event) => log(self.screen.runner().forward(event)),
            ExtensionDisplay::ForwardBytes(data) => {
                log(self.screen.runner().forward_bytes(data.as_bytes()));
            }
            ExtensionDisplay::SetShortcuts(shortcuts) => {
                let ids: Vec<KeyId> = shortcuts.iter().map(|(id, _)| *id).collect();
                let shortcuts = shortcuts.into_iter().map(|(_, shortcut)| shortcut);
                self.bridge.set_shortcuts(shortcuts.collect());
                self.screen.with_editor(|area| area.set_shortcuts(ids));
            }
            ExtensionDisplay::Redraw => self.bridge.redraw(),
        }
        Vec::new()
    }

    /// Removes what extensions show; the text of an extension's editor moves to the prompt.
    fn reset_extensions(&mut self) -> Vec<AppMsg> {
        let has_editor = self.screen.has_extension_editor();
        let editor_text = std::mem::take(&mut self.editor_text);
        self.screen.unmount_all();
        self.listen_raw(false);
        if self.extension_header.is_some() {
            self.show_builtin_header();
        }
        self.screen.with_working(|working| {
            working.update_overrides(|overrides| *overrides = WorkingOverrides::default());
        });
        if has_editor {
            self.set_prompt(&editor_text)
        } else {
            Vec::new()
        }
    }

    fn change_screen(&mut self, change: ScreenChange) {
        match change {
            ScreenChange::Mount {
                id,
                placement,
                key_release,
            } => self.mount(id, placement, key_release),
            ScreenChange::Unmount { id } => self.unmount(id),
            ScreenChange::Focus { id } => self.screen.focus_extension_view(id),
            ScreenChange::OverlayHidden { id, hidden } => {
                self.screen.hide_overlay(id, Some(hidden), None);
            }
            ScreenChange::OverlayVisible { id, visible } => {
                self.screen.hide_overlay(id, None, Some(visible));
            }
            ScreenChange::OverlayReleased {
                id,
                restore_default,
                next_focus,
            } => self.screen.release_overlay(id, restore_default, next_focus),
            ScreenChange::RawInput { listening } => self.listen_raw(listening),
            ScreenChange::Write { data } => {
                log(self.screen.runner().write_out_of_band(&out_of_band(&data)));
            }
            other => tracing::debug!(?other, "unsupported screen change"),
        }
    }

    fn remove_widget(&mut self, key: &str) {
        for side in [WidgetSide::Above, WidgetSide::Below] {
            self.screen
                .with_widgets(side, |widgets| widgets.remove(key));
        }
    }

    fn mount(&mut self, id: ComponentId, placement: ComponentPlacement, key_release: bool) {
        let view = ExtensionView::new(id, self.bridge.clone(), key_release);
        match placement {
            ComponentPlacement::Widget { key, placement } => {
                self.remove_widget(&key);
                let side = WidgetSide::named(placement.as_deref());
                self.screen
                    .with_widgets(side, |widgets| widgets.set_component(key, view));
            }
            ComponentPlacement::Header => self.show_extension_header(id, key_release),
            ComponentPlacement::Footer => self.screen.mount_footer(view),
            ComponentPlacement::Custom { blocked } => self.screen.mount_custom(view, blocked),
            ComponentPlacement::Editor => {
                self.editor_text = self.bridge.editor_text();
                self.screen.mount_editor(view);
                self.screen.with_editor(|area| area.editor().set_text(""));
            }
            ComponentPlacement::Bottom => self.screen.mount_bottom(view),
            ComponentPlacement::Overlay(placement) => self.screen.mount_overlay(view, &placement),
            other => tracing::debug!(?other, "unsupported screen placement"),
        }
    }

    fn unmount(&mut self, id: ComponentId) {
        if self
            .extension_header
            .is_some_and(|(header, _)| header == id)
        {
            self.show_builtin_header();
        }
        self.screen.unmount(id);
    }

    fn drawn(&mut self, id: ComponentId, width: usize, outcome: DrawOutcome) -> Option<AppMsg> {
        let document = self.screen.document();
        match outcome {
            DrawOutcome::Component(Ok(drawn)) => {
                let header = self.extension_header.map(|(header, _)| header);
                let too_wide = if header == Some(id) {
                    self.with_extension_header(|view| view.accept(width, &drawn))
                } else {
                    self.screen
                        .with_extension_view(id, |view| view.accept(width, &drawn))
                };
                let lines = too_wide.flatten()?;
                let owner = self.bridge.owner(id);
                return Some(
                    ExtensionMsg::TooWide {
                        owner,
                        lines,
                        width,
                    }
                    .into(),
                );
            }
            // The last lines stay; the failure has been reported.
            DrawOutcome::Component(Err(_)) => {}
            DrawOutcome::Call(drawn) => self.transcript.accept_call(document, id, drawn.ok()),
            DrawOutcome::Texts(texts) => self.transcript.accept_texts(document, id, texts.ok()),
            DrawOutcome::Custom(drawn) => {
                let drawn = drawn.ok().flatten();
                self.transcript.accept_custom(document, id, drawn);
            }
        }
        None
    }

    /// Starts or stops passing all input to extensions first.
    fn listen_raw(&mut self, listening: bool) {
        let tui = self.screen.runner().tui_mut();
        if let Some(listener) = self.raw_listener.take() {
            tui.remove_listener(listener);
        }
        if listening {
            let bridge = self.bridge.clone();
            let listener = tui.add_listener(move |event| {
                bridge.enqueue(ComponentTask::Raw(event.clone()));
                ListenerOutcome::Consumed
            });
            self.raw_listener = Some(listener);
        }
    }

    /// Publishes the cells that overlays cover.
    pub(crate) fn publish_overlay_bounds(&self) {
        for (id, bounds) in self.screen.overlay_bounds() {
            self.bridge.set_bounds(id, bounds);
        }
    }

    /// Handles the clear key while an unresponsive component has the focus: pressed twice, it is removed.
    /// Returns whether it was.
    pub(crate) fn close_stuck_component(&mut self, now: Instant) -> bool {
        let is_stuck = self
            .bridge
            .busy_since()
            .is_some_and(|since| since.elapsed() > STUCK_AFTER);
        let Some(id) = self.screen.focused_extension_view().filter(|_| is_stuck) else {
            return false;
        };
        let is_closed = self.stuck_key.press(now);
        if is_closed {
            self.screen.unmount(id);
        }
        is_closed
    }
}
