//! Snapshots of components at several widths, and properties that hold for all of them.

use std::sync::Arc;
use std::time::Instant;

use parking_lot::Mutex;
use proptest::prelude::*;

use super::*;
use crate::component::{Component, InputContext};
use crate::input::{
    InputEvent, KeyEvent, Keybindings, Paste, Platform, TUI_ACTIONS, UserKeybindings,
};
use crate::style::{Color, Style};
use crate::text::{strip_ansi, visible_width};

fn bindings() -> Keybindings {
    Keybindings::new(TUI_ACTIONS, Platform::Linux, &UserKeybindings::default())
}

fn press(component: &mut dyn Component, keys: &[&str]) {
    let bindings = bindings();
    let context = InputContext {
        keybindings: &bindings,
        now: Instant::now(),
        rows: 24,
    };
    for key in keys {
        let event = match key.strip_prefix('\'') {
            Some(text) => {
                for character in text.chars() {
                    let key = KeyEvent::typed(character);
                    component.handle_input(&InputEvent::Key(key), &context);
                }
                continue;
            }
            None => InputEvent::Key(KeyEvent::press(key.parse().unwrap())),
        };
        component.handle_input(&event, &context);
    }
}

/// Returns the lines at each width, with the right edge marked.
fn snapshot(component: &mut dyn Component, widths: &[usize]) -> String {
    let mut out = Vec::new();
    for width in widths {
        out.push(format!("{width}:"));
        for line in &component.render(*width) {
            assert!(visible_width(line) <= *width, "{line:?} in {width}");
            out.push(format!("{}⏐", strip_ansi(line)));
        }
    }
    out.join("\n")
}

fn items() -> Vec<SelectItem> {
    [
        "model",
        "settings",
        "new",
        "resume",
        "quit",
        "a-name-that-is-longer-than-its-column",
    ]
    .into_iter()
    .map(|name| SelectItem {
        value: name.to_owned(),
        label: String::new(),
        description: Some(format!("What {name} does,\nin many words")),
    })
    .collect()
}

#[test]
fn text_wraps_within_its_padding() {
    let mut text = Text::new("Hello wide 漢字 world\nsecond");
    insta::assert_snapshot!(snapshot(&mut text, &[24, 12, 3]), @r"
    24:
                            ⏐
     Hello wide 漢字 world  ⏐
     second                 ⏐
                            ⏐
    12:
                ⏐
     Hello wide ⏐
     漢字 world ⏐
     second     ⏐
                ⏐
    3:
       ⏐
     H ⏐
     e ⏐
     l ⏐
     l ⏐
     o ⏐
     w ⏐
     i ⏐
     d ⏐
     e ⏐
     ? ⏐
     ? ⏐
     w ⏐
     o ⏐
     r ⏐
     l ⏐
     d ⏐
     s ⏐
     e ⏐
     c ⏐
     o ⏐
     n ⏐
     d ⏐
       ⏐
    ");
}

#[test]
fn truncated_text_is_one_line() {
    let mut text = TruncatedText::new("Hello wide world\nsecond").padding(1, 0);
    insta::assert_snapshot!(snapshot(&mut text, &[24, 12, 3]), @r"
    24:
     Hello wide world       ⏐
    12:
     Hello w... ⏐
    3:
     . ⏐
    ");
}

#[test]
fn padded_box_pads_its_children() {
    let mut padded_box = PaddedBox::new().background(Style::plain().bg(Color::Indexed(4)));
    padded_box
        .children()
        .push(Text::new("one two").padding(0, 0));
    padded_box.children().push(Spacer::new(1));
    padded_box.children().push(Text::new("three").padding(0, 0));
    insta::assert_snapshot!(snapshot(&mut padded_box, &[14, 7]), @r"
    14:
                  ⏐
     one two      ⏐
                  ⏐
     three        ⏐
                  ⏐
    7:
           ⏐
     one   ⏐
     two   ⏐
           ⏐
     three ⏐
           ⏐
    ");
    let first = padded_box.render(14);
    assert!(padded_box.render(14).ptr_eq(&first), "nothing changed");
}

#[test]
fn a_select_list_scrolls_around_its_selection() {
    let mut list = SelectList::new(items(), 3, SelectTheme::default());
    press(&mut list, &["up"]);
    insta::assert_snapshot!(snapshot(&mut list, &[70, 30, 8]), @r"
    70:
      resume                          What resume does, in many words⏐
      quit                            What quit does, in many words⏐
    → a-name-that-is-longer-than-its  What a-name-that-is-longer-than-it⏐
      (6/6)⏐
    30:
      resume⏐
      quit⏐
    → a-name-that-is-longer-than⏐
      (6/6)⏐
    8:
      resu⏐
      quit⏐
    → a-na⏐
      (6/6⏐
    ");
    press(&mut list, &["down", "down"]);
    assert_eq!(list.selected().unwrap().value, "settings");
    press(&mut list, &["pageDown"]);
    assert_eq!(list.selected().unwrap().value, "quit");
    list.set_filter("RE");
    assert_eq!(list.selected().unwrap().value, "resume");
    list.set_filter("zz");
    assert_eq!(list.render(30)[0].as_str(), "  No matching commands");
}

#[test]
fn select_list_emits_events() {
    let log = Arc::new(Mutex::new(Vec::new()));
    let mut list = SelectList::new(items(), 3, SelectTheme::default());
    let events = Arc::clone(&log);
    list.on_event(move |event| {
        events.lock().push(match event {
            SelectEvent::Moved(item) => format!("moved {}", item.value),
            SelectEvent::Confirmed(item) => format!("confirmed {}", item.value),
            SelectEvent::Canceled => "canceled".to_owned(),
        });
    });
    press(&mut list, &["down", "enter", "escape"]);
    assert_eq!(
        *log.lock(),
        ["moved settings", "confirmed settings", "canceled"]
    );
}

fn settings(log: &Arc<Mutex<Vec<SettingsEvent>>>, search: SettingsSearch) -> SettingsList {
    let submenu = |value: &str, reply: SubmenuHandle| -> Box<dyn Component> {
        let mut list = SelectList::new(
            vec![SelectItem::new(value), SelectItem::new("light")],
            5,
            SelectTheme::default(),
        );
        list.on_event(move |event| match event {
            SelectEvent::Confirmed(item) => reply.close(SubmenuOutcome {
                value: Some(item.value),
                navigate_to: None,
            }),
            SelectEvent::Canceled => reply.close(SubmenuOutcome::default()),
            SelectEvent::Moved(_) => {}
        });
        Box::new(list)
    };
    let items = vec![
        SettingItem {
            id: "wrap".to_owned(),
            label: "Wrap lines".to_owned(),
            description: Some("Whether long lines are wrapped".to_owned()),
            value: "on".to_owned(),
            control: SettingControl::Cycle(vec!["on".to_owned(), "off".to_owned()]),
        },
        SettingItem {
            id: "theme".to_owned(),
            label: "Theme".to_owned(),
            value: "dark".to_owned(),
            control: SettingControl::Submenu(Box::new(submenu)),
            ..SettingItem::default()
        },
    ];
    let mut list = SettingsList::new(items, 5, SettingsTheme::default(), search);
    let events = Arc::clone(log);
    list.on_event(move |event| events.lock().push(event));
    list
}

#[test]
fn settings_cycle_and_open_submenus() {
    let log = Arc::default();
    let mut list = settings(&log, SettingsSearch::Off);
    insta::assert_snapshot!(snapshot(&mut list, &[50, 16]), @r"
    50:
    → Wrap lines  on⏐
      Theme       dark⏐
    ⏐
      Whether long lines are wrapped⏐
    ⏐
      Enter/Space to change · Esc to cancel⏐
    16:
    → Wrap lines  ⏐
      Theme       ⏐
    ⏐
      Whether long⏐
      lines are⏐
      wrapped⏐
    ⏐
      Enter/Space...⏐
    ");
    press(
        &mut list,
        &[
            "enter", "' ", "space", "down", "enter", "down", "enter", "escape",
        ],
    );
    let changed = |id: &str, value: &str| SettingsEvent::Changed {
        id: id.to_owned(),
        value: value.to_owned(),
    };
    assert_eq!(
        *log.lock(),
        [
            changed("wrap", "off"),
            changed("wrap", "on"),
            changed("wrap", "off"),
            changed("theme", "light"),
            SettingsEvent::Canceled,
        ]
    );
    assert_eq!(list.value("theme"), Some("light"));
}

#[test]
fn settings_can_be_searched() {
    let log = Arc::default();
    let mut list = settings(&log, SettingsSearch::On);
    press(&mut list, &["'the"]);
    insta::assert_snapshot!(snapshot(&mut list, &[60]), @r"
    60:
    > the                                                       ⏐
    ⏐
    → Theme       dark⏐
    ⏐
      Type to search · Enter/Space to change · Esc to cancel⏐
    ");
    press(&mut list, &["'zzz"]);
    assert!(list.render(60)[2].contains("No matching settings"));
}

#[test]
fn an_input_scrolls_around_its_cursor() {
    let mut input = Input::new(InputOptions::default());
    press(&mut input, &["'the quick brown fox 漢字"]);
    insta::assert_snapshot!(snapshot(&mut input, &[30, 12, 3, 1]), @r"
    30:
    > the quick brown fox 漢字    ⏐
    12:
    >  fox 漢字 ⏐
    3:
    >  ⏐
    1:
    >⏐
    ");
    press(&mut input, &["home"]);
    insta::assert_snapshot!(snapshot(&mut input, &[12]), @r"
    12:
    > the quick ⏐
    ");
}

#[test]
fn input_supports_editor_keys() {
    let cases: &[(&[&str], &str)] = &[
        (&["'ab", "left", "backspace"], "b"),
        (&["'one two", "ctrl+w"], "one "),
        (&["'one two", "ctrl+w", "ctrl+w", "ctrl+y"], "one two"),
        (&["'ab", "ctrl+a", "ctrl+k", "'x", "ctrl+y"], "xab"),
        (&["'a", "ctrl+w", "'b", "ctrl+w", "ctrl+y", "alt+y"], "a"),
        (&["'hello world", "ctrl+-"], "hello"),
        (&["'a b", "alt+left", "ctrl+u"], "b"),
        (&["'a b", "home", "alt+d"], " b"),
        (&["'ab", "home", "delete"], "b"),
    ];
    for (keys, expected) in cases {
        let mut input = Input::new(InputOptions::default());
        press(&mut input, keys);
        assert_eq!(input.value(), *expected, "{keys:?}");
    }
    let mut input = Input::new(InputOptions::default());
    let bindings = bindings();
    let context = InputContext {
        keybindings: &bindings,
        now: Instant::now(),
        rows: 24,
    };
    let paste = Paste {
        text: "a\r\nb\tc\x1b".to_owned(),
    };
    input.handle_input(&InputEvent::Paste(paste), &context);
    assert_eq!(input.value(), "ab    c");
}

#[test]
fn image_without_a_protocol_is_text() {
    let source = EncodedImage {
        base64: "".into(),
        mime_type: "image/png".to_owned(),
        size: Some(crate::terminal::ImageDimensions {
            width: 640,
            height: 480,
        }),
        file_name: Some("cat.png".to_owned()),
    };
    let mut image = Image::new(source, None);
    insta::assert_snapshot!(snapshot(&mut image, &[60, 10]), @r"
    60:
    [Image: cat.png [image/png] 640x480]⏐
    10:
    [Image: ca⏐
    ");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn no_line_exceeds_the_width(
        text in "([a-z漢👨\u{301}\u{200d}🇩🇪\t -]|\\PC){0,200}",
        width in 1_usize..300,
        keys in prop::collection::vec(0_usize..8, 0..12),
    ) {
        let mut editor = Editor::new(EditorTheme::default(), EditorOptions::default());
        editor.set_text(&text);
        let edit_keys = ["left", "up", "home", "alt+left", "backspace", "ctrl+w", "down", "ctrl+y"];
        for key in keys {
            editor.render(width);
            press(&mut editor, &[edit_keys[key]]);
        }
        let mut input = Input::new(InputOptions::default());
        input.set_value(&text);
        press(&mut input, &["end", "left"]);
        let item = SelectItem {
            value: text.clone(),
            label: String::new(),
            description: Some(text.clone()),
        };
        let setting = SettingItem {
            label: text.clone(),
            value: text.clone(),
            description: Some(text.clone()),
            ..SettingItem::default()
        };
        let mut stack = HStack::new(1);
        stack.push(StackItem::new(Text::new(text.clone())));
        stack.push(StackItem::new(Text::new(text.clone())).grow(1));
        let components: [&mut dyn Component; 7] = [
            &mut editor,
            &mut input,
            &mut Text::new(text.clone()),
            &mut TruncatedText::new(text.clone()).padding(2, 1),
            &mut SelectList::new(vec![item], 3, SelectTheme::default()),
            &mut SettingsList::new(vec![setting], 3, SettingsTheme::default(), SettingsSearch::On),
            &mut stack,
        ];
        for (index, component) in components.into_iter().enumerate() {
            for line in &component.render(width) {
                prop_assert!(visible_width(line) <= width, "component {}: {:?}", index, line);
            }
        }
    }
}

#[test]
fn ten_megabyte_line_is_laid_out() {
    let text = "a word and another ".repeat(530_000);
    let mut editor = Editor::new(EditorTheme::default(), EditorOptions::default());
    editor.set_text(&text);
    press(&mut editor, &["'x"]);
    assert_eq!(editor.render(80).len(), 9);
}
