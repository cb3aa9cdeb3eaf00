//! Components of the extensions of another process, on the screen of this one.
//!
//! They appear where they are in the other process, with its lines; what is typed into them is sent there. The prompt
//! stays that of this terminal: an editor of an extension is not shown.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use parking_lot::MutexGuard;
use pi_extensions::{
    ComponentId, ComponentPlacement, ExtensionHandle, ExtensionScreen, ExtensionUi, OverlayExtent,
    OverlayPlacement, RemoteComponents, RemoteDrawing, RenderedComponent, ScreenChange,
};
use pi_protocol::{Command, ScreenCursor, ScreenEvent, ScreenPlace, ScreenSize};

use super::RemoteInner;

/// The size of the screen, until the front end has one.
const DEFAULT_SIZE: ScreenSize = ScreenSize { cols: 80, rows: 24 };

/// Maximum number of lines of a component, more than a terminal has.
const MAX_ROWS: usize = 2000;

/// What the other process shows.
#[derive(Default)]
pub(super) struct RemoteScreen {
    components: BTreeMap<ComponentId, RemoteComponent>,
    /// The size that the other process knows.
    size: Option<ScreenSize>,
}

struct RemoteComponent {
    place: ScreenPlace,
    columns: usize,
    is_focused: bool,
    rows: Vec<String>,
    cursor: Option<ScreenCursor>,
}

/// Returns the size of the screen that shows components; `None` without one.
pub(super) fn screen_size(ui: &dyn ExtensionUi) -> Option<ScreenSize> {
    let info = ui.screen()?.info();
    let cells = |count: usize| u16::try_from(count).unwrap_or(u16::MAX);
    Some(match (cells(info.columns), cells(info.rows)) {
        (0, _) | (_, 0) => DEFAULT_SIZE,
        (cols, rows) => ScreenSize { cols, rows },
    })
}

impl RemoteInner {
    fn screen(&self) -> MutexGuard<'_, RemoteScreen> {
        self.screen.lock()
    }

    /// Records the size that a connection begins with.
    pub(super) fn screen_connected(&self, size: Option<ScreenSize>) {
        self.screen().size = size;
    }

    /// Connects the screen of the front end, before the first component or notice arrives.
    pub(super) fn connect_components(self: &Arc<Self>) {
        if let Some(screen) = self.ui.screen() {
            let link = RemoteLink(Arc::downgrade(self));
            screen.connect(Some(ExtensionHandle::remote(Arc::new(link))));
        }
    }

    /// Removes what the other process has shown.
    pub(super) fn hide_components(&self) {
        self.screen().components.clear();
        if let Some(screen) = self.ui.screen() {
            screen.connect(None);
        }
    }

    pub(super) fn change_component(&self, event: ScreenEvent) {
        let Some(screen) = self.ui.screen() else {
            return;
        };
        let mut remote = self.screen();
        match event {
            ScreenEvent::ScreenMount {
                id,
                place,
                cols,
                focused,
            } => {
                let known = remote.components.remove(&id);
                let is_moved = known
                    .as_ref()
                    .is_some_and(|known| known.place != place || known.columns != cols);
                let is_new = known.is_none() || is_moved;
                let was_focused = known.as_ref().is_some_and(|known| known.is_focused);
                let (rows, cursor) = known.map_or_else(Default::default, |it| (it.rows, it.cursor));
                let component = RemoteComponent {
                    place,
                    columns: cols,
                    is_focused: focused,
                    rows,
                    cursor,
                };
                if is_moved {
                    screen.change(None, ScreenChange::Unmount { id });
                }
                if is_new {
                    component.mount(id, screen, self.is_read_only);
                } else if was_focused != focused && !self.is_read_only {
                    component.move_focus(id, screen);
                }
                remote.components.insert(id, component);
            }
            ScreenEvent::ScreenLines {
                id,
                rows,
                lines,
                cursor,
            } => {
                let Some(component) = remote.components.get_mut(&id) else {
                    return;
                };
                component.rows.resize(rows.min(MAX_ROWS), String::new());
                for line in lines {
                    if let Some(row) = component.rows.get_mut(line.row) {
                        *row = line.text;
                    }
                }
                component.cursor = cursor;
                screen.change(None, ScreenChange::Redraw);
            }
            ScreenEvent::ScreenUnmount { id } => {
                if remote.components.remove(&id).is_some() {
                    screen.change(None, ScreenChange::Unmount { id });
                }
            }
        }
    }

    /// Sends the size of the screen, if the other process knows another one.
    async fn send_size(&self) {
        let Some(size) = screen_size(&*self.ui) else {
            return;
        };
        if self.is_read_only || self.screen().size.replace(size) == Some(size) {
            return;
        }
        let commands = self.commands();
        if let Err(error) = commands.request(&Command::ScreenSize(size)).await {
            tracing::debug!(%error, "cannot send the size of the screen");
        }
    }
}

impl RemoteComponent {
    fn mount(&self, id: ComponentId, screen: &dyn ExtensionScreen, is_read_only: bool) {
        let Some(placement) = self.placement(is_read_only) else {
            return;
        };
        let change = ScreenChange::Mount {
            id,
            placement,
            key_release: false,
        };
        screen.change(None, change);
    }

    /// Returns where it belongs on this screen. What only watches takes no keys from its user.
    fn placement(&self, is_read_only: bool) -> Option<ComponentPlacement> {
        Some(match &self.place {
            ScreenPlace::Widget { key, placement } => ComponentPlacement::Widget {
                key: key.clone(),
                placement: Some(placement.clone()),
            },
            ScreenPlace::Header => ComponentPlacement::Header,
            ScreenPlace::Footer => ComponentPlacement::Footer,
            ScreenPlace::Custom if is_read_only => ComponentPlacement::Bottom,
            ScreenPlace::Custom => ComponentPlacement::Custom { blocked: None },
            ScreenPlace::Editor => return None,
            ScreenPlace::Bottom => ComponentPlacement::Bottom,
            ScreenPlace::Overlay { anchor } => {
                let columns = u16::try_from(self.columns).unwrap_or(u16::MAX);
                ComponentPlacement::Overlay(Box::new(OverlayPlacement {
                    anchor: Some(anchor.clone()),
                    width: Some(OverlayExtent::Cells(columns.into())),
                    non_capturing: is_read_only || !self.is_focused,
                    is_visible: true,
                    ..OverlayPlacement::default()
                }))
            }
        })
    }

    fn move_focus(&self, id: ComponentId, screen: &dyn ExtensionScreen) {
        let change = match &self.place {
            ScreenPlace::Overlay { .. } if !self.is_focused => ScreenChange::OverlayReleased {
                id,
                restore_default: true,
                next_focus: None,
            },
            ScreenPlace::Overlay { .. } => ScreenChange::Focus { id: Some(id) },
            // The prompt area has its own order.
            _ => return,
        };
        screen.change(None, change);
    }
}

/// The components, for the front end.
struct RemoteLink(Weak<RemoteInner>);

impl RemoteComponents for RemoteLink {
    fn drawn(&self, id: ComponentId) -> Option<RenderedComponent> {
        let remote = self.0.upgrade()?;
        let screen = remote.screen();
        let component = screen.components.get(&id)?;
        Some(RenderedComponent {
            lines: component.rows.clone(),
            remote: Some(RemoteDrawing {
                columns: component.columns,
                cursor: component.cursor,
            }),
            ..RenderedComponent::default()
        })
    }

    fn input(&self, id: ComponentId, data: String) -> BoxFuture<'static, ()> {
        let remote = self.0.upgrade().filter(|remote| !remote.is_read_only);
        async move {
            let Some(remote) = remote else { return };
            let commands = remote.commands();
            let command = Command::ScreenInput {
                component: Some(id),
                data,
            };
            if let Err(error) = commands.request(&command).await {
                tracing::debug!(%error, "the input was not used");
            }
        }
        .boxed()
    }

    fn resized(&self) -> BoxFuture<'static, ()> {
        let remote = self.0.upgrade();
        async move {
            if let Some(remote) = remote {
                remote.send_size().await;
            }
        }
        .boxed()
    }
}
