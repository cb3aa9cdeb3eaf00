//! Search in the transcript in full-screen mode: the panel, and the match it jumps to.

use super::Scene;
use super::search_panel::{SearchButton, SearchPanel};
use crate::focus::FocusTarget;
use crate::input::{Keybindings, MouseReport, action};
use crate::overlay::{OverlayAnchor, OverlayId, OverlayMargin, OverlayOptions, OverlayWidth};
use crate::render::{FullScreen, TranscriptSearch};

/// The search panel, while it is open.
#[derive(Debug, Default)]
pub(super) struct SearchControl {
    overlay: Option<OverlayId>,
}

impl SearchControl {
    pub(super) fn is_focused(&self, scene: &Scene) -> bool {
        let panel = self.overlay.map(FocusTarget::Overlay);
        panel.is_some() && panel == scene.focused()
    }

    /// Performs a search action. Returns whether it is one.
    pub(super) fn perform(
        &mut self,
        id: &str,
        scene: &mut Scene,
        screen: &mut FullScreen,
        keybindings: &Keybindings,
    ) -> bool {
        match id {
            action::ALT_SCREEN_SEARCH => self.toggle(scene, screen, keybindings),
            action::ALT_SCREEN_SEARCH_CLOSE => self.close(scene, Some(screen)),
            action::ALT_SCREEN_SEARCH_NEXT => self.jump(scene, screen, TranscriptSearch::next),
            action::ALT_SCREEN_SEARCH_PREVIOUS => {
                self.jump(scene, screen, TranscriptSearch::previous);
            }
            _ => return false,
        }
        true
    }

    /// Opens the panel, or closes it if it is open.
    fn toggle(&mut self, scene: &mut Scene, screen: &mut FullScreen, keybindings: &Keybindings) {
        if self.overlay.is_some() {
            return self.close(scene, Some(screen));
        }
        screen.search = Some(TranscriptSearch::default());
        let options = OverlayOptions {
            width: OverlayWidth::Percent(40.0),
            min_width: 32,
            anchor: OverlayAnchor::TopRight,
            margin: OverlayMargin::all(1),
            ..OverlayOptions::default()
        };
        let keys = [
            action::ALT_SCREEN_SEARCH_PREVIOUS,
            action::ALT_SCREEN_SEARCH_NEXT,
        ]
        .map(|id| key_name(keybindings, id));
        self.overlay = Some(scene.show_overlay(SearchPanel::new(keys), options));
    }

    /// Closes the panel and ends the search on the screen that shows it.
    pub(super) fn close(&mut self, scene: &mut Scene, screen: Option<&mut FullScreen>) {
        if let Some(screen) = screen {
            screen.search = None;
        }
        if let Some(id) = self.overlay.take() {
            scene.remove_overlay(id);
        }
    }

    /// Handles the pointer over the panel's buttons.
    ///
    /// Returns whether the panel changed its appearance.
    pub(super) fn follow_pointer(
        &self,
        report: MouseReport,
        scene: &mut Scene,
        screen: &mut FullScreen,
    ) -> bool {
        let over = scene
            .overlays
            .at(report.column, report.row, scene.size)
            .map(|(id, _)| id);
        let outside = over != self.overlay;
        let Some(panel) = self.panel(scene) else {
            return false;
        };
        let left = outside && panel.set_hovered(None);
        match panel.take_pressed() {
            Some(SearchButton::Previous) => self.jump(scene, screen, TranscriptSearch::previous),
            Some(SearchButton::Next) => self.jump(scene, screen, TranscriptSearch::next),
            None => return left,
        }
        true
    }

    /// Searches for the panel's query, starting at the top of the viewport.
    pub(super) fn follow_query(&self, scene: &mut Scene, screen: &mut FullScreen) {
        let Some(query) = self.panel(scene).map(|panel| panel.query().to_owned()) else {
            return;
        };
        if let Some(search) = &mut screen.search
            && search.query() != query
        {
            // All blocks must be laid out before they can be searched.
            let transcript = &mut scene.content.transcript;
            transcript.refresh_tail(usize::MAX);
            let from = search
                .current()
                .map_or(screen.viewport.top(), |found| found.line);
            search.start(query, transcript, from);
        }
        self.jump(scene, screen, |_| {});
    }

    /// Shows the match that `choose` selects.
    fn jump(
        &self,
        scene: &mut Scene,
        screen: &mut FullScreen,
        choose: impl FnOnce(&mut TranscriptSearch),
    ) {
        let Some(search) = &mut screen.search else {
            return;
        };
        choose(search);
        if let Some(line) = search.current().map(|found| found.line) {
            screen.viewport.reveal(line);
        }
        self.update_result(scene, screen);
    }

    /// Updates the match count in the panel. Returns whether it changed.
    pub(super) fn update_result(&self, scene: &mut Scene, screen: &FullScreen) -> bool {
        let Some(search) = &screen.search else {
            return false;
        };
        let (position, count) = (search.position(), search.count());
        self.panel(scene)
            .is_some_and(|panel| panel.set_result(position, count))
    }

    fn panel<'scene>(&self, scene: &'scene mut Scene) -> Option<&'scene mut SearchPanel> {
        let component = scene.overlay_mut(self.overlay?)?;
        (component as &mut dyn std::any::Any).downcast_mut()
    }
}

/// Returns the first key bound to an action, formatted for display.
fn key_name(keybindings: &Keybindings, id: &str) -> String {
    let Some(key) = keybindings.keys(id).first() else {
        return "unbound".to_owned();
    };
    let name = key.to_string();
    let parts = name.split_inclusive('+').map(|part| {
        let mut rest = part.chars();
        let first = rest.next().map(|first| first.to_ascii_uppercase());
        first.into_iter().chain(rest).collect::<String>()
    });
    parts.collect()
}
