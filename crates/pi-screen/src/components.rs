//! The components of a screen: what is shown, what has the focus, and what is due to be drawn.

use std::time::{Duration, Instant};

use pi_host::{ComponentId, ComponentPlacement, MountSerial};
use pi_protocol::{ScreenEvent, ScreenPlace};
use pi_tui::Size;

use crate::overlay::overlay_options;
use crate::row::ClientRows;

/// Time between two drawings of a component: 20 per second.
pub(crate) const FRAME_INTERVAL: Duration = Duration::from_millis(50);

/// A component is set aside after this many consecutive failed or slow drawings.
const STRIKES: u8 = 3;

#[derive(Debug)]
pub(crate) struct MountedComponent {
    pub(crate) serial: MountSerial,
    pub(crate) id: ComponentId,
    pub(crate) placement: ComponentPlacement,
    pub(crate) owner: Option<String>,
    pub(crate) key_release: bool,
    /// Hidden by the extension.
    pub(crate) is_hidden: bool,
    /// Does not fit the screen.
    pub(crate) is_unfit: bool,
    /// Released the focus.
    pub(crate) is_released: bool,
    pub(crate) drawn: ClientRows,
    /// When to draw it next.
    due: Option<Instant>,
    last_draw: Option<Instant>,
    strikes: u8,
    has_warned: bool,
}

impl MountedComponent {
    pub(crate) fn new(
        serial: MountSerial,
        id: ComponentId,
        placement: ComponentPlacement,
        key_release: bool,
        owner: Option<String>,
    ) -> Self {
        let is_unfit = match &placement {
            ComponentPlacement::Overlay(overlay) => !overlay.is_visible,
            _ => false,
        };
        Self {
            serial,
            id,
            placement,
            owner,
            key_release,
            is_hidden: false,
            is_unfit,
            is_released: false,
            drawn: ClientRows::default(),
            due: Some(Instant::now()),
            last_draw: None,
            strikes: 0,
            has_warned: false,
        }
    }

    fn is_visible(&self) -> bool {
        !self.is_hidden && !self.is_unfit
    }

    /// Whether it takes the focus while it is visible.
    fn captures_focus(&self) -> bool {
        match &self.placement {
            ComponentPlacement::Custom { .. } | ComponentPlacement::Editor => true,
            ComponentPlacement::Overlay(overlay) => {
                !overlay.non_capturing && !self.is_released && self.is_visible()
            }
            _ => false,
        }
    }

    fn is_overlay(&self) -> bool {
        matches!(self.placement, ComponentPlacement::Overlay(_))
    }

    /// Whether it replaces the prompt.
    fn replaces_prompt(&self) -> bool {
        matches!(
            self.placement,
            ComponentPlacement::Custom { .. } | ComponentPlacement::Editor
        )
    }

    pub(crate) fn columns(&self, size: Size) -> usize {
        match &self.placement {
            ComponentPlacement::Overlay(overlay) => overlay_options(overlay).resolve_width(size),
            _ => size.columns,
        }
    }

    /// Returns the cells that an overlay covers: row, column, width and height.
    pub(crate) fn bounds(&self, rows: usize, size: Size) -> Option<[usize; 4]> {
        let ComponentPlacement::Overlay(overlay) = &self.placement else {
            return None;
        };
        let cells = overlay_options(overlay).place(self.columns(size), rows, size);
        Some([cells.row, cells.column, cells.width, cells.height])
    }

    /// Schedules a drawing, no sooner than the next frame.
    fn schedule(&mut self, now: Instant) {
        if self.strikes < STRIKES {
            let next = self.last_draw.map_or(now, |drawn| drawn + FRAME_INTERVAL);
            let next = next.max(now);
            self.due = Some(self.due.map_or(next, |due| due.min(next)));
        }
    }

    /// Accepts what was drawn at `columns`.
    pub(crate) fn accept(&mut self, lines: &[String], columns: usize, size: Size) {
        self.strikes = 0;
        let height = match self.bounds(lines.len(), size) {
            Some([_, _, _, height]) => height,
            None => usize::MAX,
        };
        self.drawn = ClientRows::new(lines, columns, height);
    }

    /// Records a failed or slow drawing. Returns whether to report it.
    pub(crate) fn record_failure(&mut self) -> bool {
        self.strikes = self.strikes.saturating_add(1);
        !std::mem::replace(&mut self.has_warned, true)
    }

    fn place(&self) -> ScreenPlace {
        match &self.placement {
            ComponentPlacement::Widget { key, placement } => ScreenPlace::Widget {
                key: key.clone(),
                placement: match placement.as_deref() {
                    Some("belowEditor") => "belowEditor".to_owned(),
                    _ => "aboveEditor".to_owned(),
                },
            },
            ComponentPlacement::Header => ScreenPlace::Header,
            ComponentPlacement::Footer => ScreenPlace::Footer,
            ComponentPlacement::Custom { .. } => ScreenPlace::Custom,
            ComponentPlacement::Editor => ScreenPlace::Editor,
            ComponentPlacement::Overlay(overlay) => ScreenPlace::Overlay {
                anchor: overlay
                    .anchor
                    .clone()
                    .unwrap_or_else(|| "center".to_owned()),
            },
            _ => ScreenPlace::Bottom,
        }
    }

    pub(crate) fn mount_event(&self, size: Size, focus: Option<MountSerial>) -> ScreenEvent {
        ScreenEvent::ScreenMount {
            id: self.serial,
            place: self.place(),
            cols: self.columns(size),
            focused: focus == Some(self.serial),
        }
    }
}

/// The mounted components, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Components {
    mounted: Vec<MountedComponent>,
    /// The component that an extension has focused.
    chosen_focus: Option<ComponentId>,
    last_serial: MountSerial,
}

impl Components {
    pub(crate) fn mount(
        &mut self,
        id: ComponentId,
        placement: ComponentPlacement,
        key_release: bool,
        owner: Option<&str>,
    ) {
        // A widget replaces the one with its key.
        if let ComponentPlacement::Widget { key, .. } = &placement {
            self.mounted.retain(|other| match &other.placement {
                ComponentPlacement::Widget { key: known, .. } => known != key,
                _ => true,
            });
        }
        self.last_serial += 1;
        let owner = owner.map(str::to_owned);
        let component = MountedComponent::new(self.last_serial, id, placement, key_release, owner);
        if component.captures_focus() {
            self.chosen_focus = None;
        }
        self.mounted.push(component);
    }

    pub(crate) fn unmount(&mut self, id: ComponentId) {
        self.mounted.retain(|component| component.id != id);
    }

    pub(crate) fn clear(&mut self) {
        self.mounted.clear();
        self.chosen_focus = None;
    }

    pub(crate) fn get(&mut self, id: ComponentId) -> Option<&mut MountedComponent> {
        self.mounted.iter_mut().find(|component| component.id == id)
    }

    /// Returns the component that a client calls `serial`.
    pub(crate) fn by_serial(&self, serial: MountSerial) -> Option<&MountedComponent> {
        let mut mounted = self.mounted.iter();
        mounted.find(|component| component.serial == serial)
    }

    pub(crate) fn focus(&mut self, id: Option<ComponentId>) {
        self.chosen_focus = id;
        if let Some(component) = id.and_then(|id| self.get(id)) {
            component.is_released = false;
        }
    }

    pub(crate) fn release(&mut self, id: ComponentId, next: Option<ComponentId>) {
        if let Some(component) = self.get(id) {
            component.is_released = true;
        }
        self.chosen_focus = next;
    }

    /// Returns the component that receives keys: the one that an extension chose, the newest overlay, what replaces the
    /// prompt.
    pub(crate) fn focused(&self) -> Option<&MountedComponent> {
        let mut newest = self.mounted.iter().rev();
        let chosen = self.chosen_focus.and_then(|chosen| {
            let mut mounted = self.mounted.iter();
            mounted.find(|component| component.id == chosen && component.is_visible())
        });
        chosen
            .or_else(|| newest.find(|it| it.is_overlay() && it.captures_focus()))
            .or_else(|| self.front())
    }

    /// Returns what replaces the prompt: the newest custom component, else the editor.
    fn front(&self) -> Option<&MountedComponent> {
        let is_custom =
            |it: &&MountedComponent| matches!(it.placement, ComponentPlacement::Custom { .. });
        let mut newest = self.mounted.iter().rev();
        newest
            .clone()
            .find(is_custom)
            .or_else(|| newest.find(|it| it.replaces_prompt()))
    }

    /// Returns what clients show.
    pub(crate) fn shown(&self) -> impl Iterator<Item = &MountedComponent> {
        let front = self.front().map(|front| front.serial);
        self.mounted.iter().filter(move |component| {
            component.is_visible()
                && (!component.replaces_prompt() || front == Some(component.serial))
        })
    }

    /// Whether an extension replaces the prompt editor.
    pub(crate) fn has_editor(&self) -> bool {
        let mut mounted = self.mounted.iter();
        mounted.any(|component| matches!(component.placement, ComponentPlacement::Editor))
    }

    pub(crate) fn redraw(&mut self, now: Instant) {
        for component in &mut self.mounted {
            component.schedule(now);
        }
    }

    /// Returns what is due to be drawn; otherwise the time until something is.
    pub(crate) fn next_draw(&mut self, now: Instant) -> Result<ComponentId, Option<Duration>> {
        let shown: Vec<MountSerial> = self.shown().map(|component| component.serial).collect();
        let next = self
            .mounted
            .iter_mut()
            .filter(|component| shown.contains(&component.serial))
            .filter_map(|component| Some((component.due?, component)))
            .min_by_key(|(due, _)| *due);
        let (due, component) = next.ok_or(None)?;
        if due > now {
            return Err(Some(due - now));
        }
        component.due = None;
        component.last_draw = Some(now);
        Ok(component.id)
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::{Value, json};

    use super::*;

    const SIZE: Size = Size {
        columns: 100,
        rows: 40,
    };

    fn placement(kind: &str, mut more: Value) -> ComponentPlacement {
        more["kind"] = json!(kind);
        serde_json::from_value(more).unwrap()
    }

    fn shown(components: &Components) -> Vec<ComponentId> {
        components.shown().map(|component| component.id).collect()
    }

    fn focused(components: &Components) -> Option<ComponentId> {
        components.focused().map(|component| component.id)
    }

    #[test]
    fn the_newest_component_replaces_the_prompt() {
        let mut components = Components::default();
        components.mount(1, placement("editor", json!({})), false, None);
        components.mount(2, placement("custom", json!({})), false, None);
        components.mount(3, placement("custom", json!({})), false, None);
        components.mount(4, placement("footer", json!({})), false, None);
        assert_eq!(shown(&components), [3, 4]);
        assert_eq!(focused(&components), Some(3));
        components.unmount(3);
        assert_eq!(focused(&components), Some(2));
        components.unmount(2);
        assert_eq!(
            (shown(&components), focused(&components)),
            (vec![1, 4], Some(1))
        );
    }

    #[test]
    fn overlays_take_and_release_the_focus() {
        let mut components = Components::default();
        components.mount(1, placement("custom", json!({})), false, None);
        let overlay = json!({ "isVisible": true, "anchor": "top-right", "width": "50%" });
        components.mount(2, placement("overlay", overlay.clone()), false, None);
        assert_eq!(focused(&components), Some(2));
        components.get(2).unwrap().is_hidden = true;
        assert_eq!(
            (shown(&components), focused(&components)),
            (vec![1], Some(1))
        );
        components.get(2).unwrap().is_hidden = false;
        components.release(2, None);
        assert_eq!(focused(&components), Some(1));
        components.focus(Some(2));
        assert_eq!(focused(&components), Some(2));
        let mut passive = overlay;
        passive["nonCapturing"] = json!(true);
        components.mount(3, placement("overlay", passive), false, None);
        assert_eq!(focused(&components), Some(2));
        let event = components.get(3).unwrap().mount_event(SIZE, None);
        let anchor = "top-right".to_owned();
        assert_eq!(
            event,
            ScreenEvent::ScreenMount {
                id: 3,
                place: ScreenPlace::Overlay { anchor },
                cols: 50,
                focused: false,
            }
        );
    }

    #[test]
    fn a_widget_replaces_the_one_with_its_key() {
        let mut components = Components::default();
        for id in [1, 2] {
            components.mount(id, placement("widget", json!({ "key": "a" })), false, None);
        }
        components.mount(3, placement("widget", json!({ "key": "b" })), false, None);
        assert_eq!(shown(&components), [2, 3]);
    }

    #[test]
    fn components_are_drawn_at_most_once_per_frame_and_set_aside_when_they_fail() {
        let mut components = Components::default();
        components.mount(1, placement("header", json!({})), false, None);
        let start = Instant::now();
        assert_eq!(components.next_draw(start), Ok(1));
        components.redraw(start);
        assert_eq!(components.next_draw(start), Err(Some(FRAME_INTERVAL)));
        assert_eq!(components.next_draw(start + FRAME_INTERVAL), Ok(1));
        let component = components.get(1).unwrap();
        assert!(component.record_failure());
        assert!(!component.record_failure());
        component.record_failure();
        components.redraw(start + FRAME_INTERVAL);
        assert_eq!(components.next_draw(start + 9 * FRAME_INTERVAL), Err(None));
    }
}
