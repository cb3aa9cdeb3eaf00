use pi_protocol::{
    AuthSource, AuthStatus, DeviceCodeActions, LoginEvent, LoginOption, LoginPrompt,
};
use pretty_assertions::assert_eq;

use super::*;
use crate::dialogs::intent::SecretText;
use crate::dialogs::testing::{DialogTester, HOSTILE, fits_every_size, survives_random_input};

fn option(provider: &str, name: &str, kind: AuthKind, source: Option<AuthSource>) -> LoginOption {
    LoginOption {
        provider: provider.to_owned(),
        name: name.to_owned(),
        kind,
        status: source.map(|source| AuthStatus { kind, source }),
        is_guided: kind == AuthKind::OAuth,
    }
}

fn options() -> Vec<LoginOption> {
    let mut bedrock = option("amazon-bedrock", "Amazon Bedrock", AuthKind::ApiKey, None);
    bedrock.is_guided = true;
    vec![
        option(
            "anthropic",
            "Anthropic",
            AuthKind::OAuth,
            Some(AuthSource::OAuth),
        ),
        option("xai", "xAI", AuthKind::OAuth, None),
        bedrock,
        option("anthropic", "Anthropic", AuthKind::ApiKey, None),
        option(
            "openrouter",
            "OpenRouter",
            AuthKind::ApiKey,
            Some(AuthSource::Variable("OPENROUTER_API_KEY".to_owned())),
        ),
    ]
}

fn tester(provider: Option<&str>) -> DialogTester<DialogFrame<LoginDialog>> {
    let ui = UiTheme::for_tests();
    DialogTester::new(&ui, LoginDialog::open(ui.clone(), options(), provider))
}

#[test]
fn a_key_is_masked_and_stored() {
    let mut tester = tester(None);
    insta::assert_snapshot!(tester.screen());
    tester.press("down enter");
    insta::assert_snapshot!(tester.screen());
    tester.press("'openrou enter");
    tester.press("'sk-typed-key");
    let screen = tester.screen();
    assert!(!screen.contains("sk-typed"), "{screen}");
    insta::assert_snapshot!(screen);
    tester.type_text("\x1b[200~\n more \x1b[201~");
    tester.press("enter");
    let intents = tester.intents();
    let key = SecretText("sk-typed-keymore".to_owned());
    assert_eq!(
        intents,
        [Intent::StoreKey {
            provider: "openrouter".to_owned(),
            key
        }]
    );
    assert!(!format!("{intents:?}").contains("sk-typed"));
    assert!(tester.is_done());
}

#[test]
fn an_empty_key_is_not_stored() {
    let mut tester = tester(Some("openrouter"));
    tester.press("space enter");
    assert_eq!(tester.intents(), []);
    assert!(!tester.is_done());
    tester.press("escape");
    assert!(tester.is_done());
}

#[test]
fn escape_goes_back_then_closes() {
    let mut tester = tester(None);
    tester.press("enter escape");
    assert!(tester.screen().contains("Choose a sign-in method"));
    tester.press("escape");
    assert!(tester.is_done());
    assert_eq!(tester.intents(), []);
}

#[test]
fn a_canceled_sign_in_or_key_returns_to_the_first_question() {
    let mut tester = tester(None);
    for (steps, expected) in [
        (
            "enter 'xai enter",
            vec![
                Intent::SignIn {
                    provider: "xai".to_owned(),
                    kind: AuthKind::OAuth,
                },
                Intent::CancelSignIn,
            ],
        ),
        ("down enter 'openrou enter", vec![]),
    ] {
        tester.press(steps);
        assert!(!tester.screen().contains("Choose a sign-in method"));
        tester.press("escape");
        assert_eq!(tester.intents(), expected, "{steps}");
        assert!(
            tester.screen().contains("Choose a sign-in method"),
            "{steps}"
        );
        assert!(!tester.is_done());
    }
}

#[test]
fn radius_is_the_last_choice_of_the_first_question() {
    let ui = UiTheme::for_tests();
    let radius = option("radius", "Radius", AuthKind::OAuth, None);
    let options = options().into_iter().chain([radius]).collect();
    let mut tester = DialogTester::new(&ui, LoginDialog::open(ui.clone(), options, None));
    assert!(tester.screen().contains("Sign in with Radius"));
    tester.press("down down enter");
    assert_eq!(
        tester.intents(),
        [Intent::SignIn {
            provider: "radius".to_owned(),
            kind: AuthKind::OAuth,
        }]
    );
}

#[test]
fn a_named_provider_starts_at_once() {
    let mut tester = tester(Some("XAI"));
    assert_eq!(
        tester.intents(),
        [Intent::SignIn {
            provider: "xai".to_owned(),
            kind: AuthKind::OAuth,
        }]
    );
    assert!(tester.screen().contains("Sign in to xAI"));
}

#[test]
fn a_provider_with_two_methods_asks_which() {
    let mut tester = tester(Some("anthropic"));
    assert!(
        tester
            .screen()
            .contains("Choose a sign-in method for Anthropic")
    );
    tester.press("down enter");
    assert!(tester.screen().contains("API key for Anthropic"));
}

#[test]
fn an_unknown_name_becomes_a_search() {
    let mut tester = tester(Some("router"));
    let screen = tester.screen();
    assert!(screen.contains("OpenRouter [API key]"), "{screen}");
    tester.press("escape");
    assert!(tester.is_done());
}

#[test]
fn a_key_with_additional_details_uses_the_guided_flow() {
    let mut tester = tester(Some("amazon-bedrock"));
    assert_eq!(
        tester.intents(),
        [Intent::SignIn {
            provider: "amazon-bedrock".to_owned(),
            kind: AuthKind::ApiKey,
        }]
    );
    tester.on_update(DialogUpdate::SignInPrompt(LoginPrompt::Secret {
        message: "API key, if there is one:".to_owned(),
    }));
    tester.press("enter");
    assert_eq!(tester.intents(), [Intent::AnswerSignIn(String::new())]);
}

fn signing_in() -> DialogTester<DialogFrame<LoginDialog>> {
    let mut tester = tester(Some("xai"));
    tester.intents();
    tester
}

#[test]
fn the_page_opens_and_its_url_is_shown_completely() {
    let mut tester = signing_in();
    let url = format!(
        "https://accounts.x.ai/authorize?state={}",
        "a1b2".repeat(40)
    );
    tester.on_update(DialogUpdate::SignIn(LoginEvent::AuthUrl {
        url: url.clone(),
        instructions: "Come back when you are done.".to_owned(),
    }));
    assert_eq!(tester.intents(), [Intent::OpenUrl(url.clone())]);
    let screen = tester.screen();
    let joined: String = screen.lines().map(str::trim).collect();
    assert!(joined.contains(&url), "{screen}");
    tester.press("ctrl+x");
    assert_eq!(tester.intents(), [Intent::CopyText(url)]);
}

#[test]
fn only_web_addresses_reach_the_browser() {
    for url in [
        "file:///etc/passwd",
        "javascript:alert(1)",
        "x-app://do",
        "\x1b]0;x\x07ftp://a",
    ] {
        let mut tester = signing_in();
        tester.on_update(DialogUpdate::SignIn(LoginEvent::AuthUrl {
            url: url.to_owned(),
            instructions: String::new(),
        }));
        assert_eq!(tester.intents(), [], "{url}");
    }
}

#[test]
fn a_code_is_shown_and_questions_are_answered() {
    let mut tester = signing_in();
    tester.on_update(DialogUpdate::SignIn(LoginEvent::DeviceCode {
        user_code: "WDJB-MJHT".to_owned(),
        verification_uri: "https://x.ai/device".to_owned(),
        interval_seconds: None,
        expires_in_seconds: None,
        on_confirm: DeviceCodeActions::default(),
    }));
    tester.on_update(DialogUpdate::SignInPrompt(LoginPrompt::ManualCode {
        message: "Paste what the page shows, should nothing happen:".to_owned(),
        placeholder: Some("code#state".to_owned()),
    }));
    insta::assert_snapshot!(tester.screen());
    tester.press("'abc enter");
    assert_eq!(tester.intents(), [Intent::AnswerSignIn("abc".to_owned())]);
    tester.on_update(DialogUpdate::SignInPromptWithdrawn);
    tester.on_update(DialogUpdate::SignInEnded(Ok(())));
    assert!(tester.is_done());
}

#[test]
fn enter_copies_the_code_and_opens_the_page() {
    let mut tester = signing_in();
    tester.on_update(DialogUpdate::SignIn(LoginEvent::DeviceCode {
        user_code: "WDJB-MJHT".to_owned(),
        verification_uri: "https://x.ai/device".to_owned(),
        interval_seconds: None,
        expires_in_seconds: None,
        on_confirm: DeviceCodeActions::default(),
    }));
    let screen = tester.screen();
    assert!(screen.contains("copy code and open page"), "{screen}");
    tester.press("enter");
    assert_eq!(
        tester.intents(),
        [
            Intent::CopyText("WDJB-MJHT".to_owned()),
            Intent::OpenUrl("https://x.ai/device".to_owned()),
        ]
    );
}

#[test]
fn a_provider_may_refuse_either_action_of_enter() {
    let url = Intent::OpenUrl("https://x.ai/device".to_owned());
    let code = Intent::CopyText("WDJB-MJHT".to_owned());
    for (open_browser, copy_code, hint, expected) in [
        (true, false, "open page", vec![url]),
        (false, true, "copy code", vec![code]),
        (false, false, "", vec![]),
    ] {
        let mut tester = signing_in();
        tester.on_update(DialogUpdate::SignIn(LoginEvent::DeviceCode {
            user_code: "WDJB-MJHT".to_owned(),
            verification_uri: "https://x.ai/device".to_owned(),
            interval_seconds: None,
            expires_in_seconds: None,
            on_confirm: DeviceCodeActions {
                open_browser,
                copy_code,
            },
        }));
        let screen = tester.screen();
        assert!(screen.contains(hint), "{screen}");
        assert!(!screen.contains("copy code and open page"), "{screen}");
        tester.press("enter");
        assert_eq!(tester.intents(), expected);
    }
}

#[test]
fn a_choice_is_answered_with_its_id() {
    let mut tester = signing_in();
    tester.on_update(DialogUpdate::SignInPrompt(LoginPrompt::Select {
        message: "Which account?".to_owned(),
        choices: vec![
            pi_protocol::LoginChoice {
                id: "work".to_owned(),
                label: "Work".to_owned(),
            },
            pi_protocol::LoginChoice {
                id: "home".to_owned(),
                label: "Home".to_owned(),
            },
        ],
    }));
    tester.press("down enter");
    assert_eq!(tester.intents(), [Intent::AnswerSignIn("home".to_owned())]);
}

#[test]
fn a_failure_stays_visible() {
    let mut tester = signing_in();
    tester.on_update(DialogUpdate::SignInEnded(Err(
        "the code\x07 is too old".to_owned()
    )));
    let screen = tester.screen();
    assert!(
        screen.contains("Sign-in failed: the code is too old"),
        "{screen}"
    );
    tester.press("escape");
    assert_eq!(tester.intents(), []);
    assert!(tester.is_done());
}

#[test]
fn canceling_sends_an_intent() {
    let mut tester = signing_in();
    tester.press("ctrl+c");
    assert_eq!(tester.intents(), [Intent::CancelSignIn]);
    assert!(tester.is_done());
}

#[test]
fn signing_out_names_the_provider() {
    let ui = UiTheme::for_tests();
    let stored = vec![options().remove(0)];
    let mut tester = DialogTester::new(&ui, LogoutDialog::open(ui.clone(), stored));
    assert!(tester.screen().contains("Anthropic · configured"));
    tester.press("enter");
    assert_eq!(
        tester.intents(),
        [Intent::SignOut {
            provider: "anthropic".to_owned()
        }]
    );
}

#[test]
fn provider_text_is_sanitized() {
    let ui = UiTheme::for_tests();
    ui.update(|ctx| ctx.capabilities.hyperlinks = true);
    let dialog = LoginDialog::open(ui.clone(), options(), Some("xai"));
    let mut tester = DialogTester::new(&ui, dialog);
    tester.on_update(DialogUpdate::SignIn(LoginEvent::AuthUrl {
        url: format!("https://x.ai/{HOSTILE}"),
        instructions: HOSTILE.to_owned(),
    }));
    tester.on_update(DialogUpdate::SignIn(LoginEvent::Progress {
        message: HOSTILE.to_owned(),
    }));
    insta::assert_snapshot!(tester.screen());
}

#[test]
fn every_step_fits_any_terminal() {
    let ui = UiTheme::for_tests();
    for provider in [
        None,
        Some("router"),
        Some("openrouter"),
        Some("amazon-bedrock"),
    ] {
        fits_every_size(LoginDialog::open(ui.clone(), options(), provider));
    }
    let mut dialog = LoginDialog::open(ui, options(), Some("xai"));
    for _ in 0..30 {
        crate::dialogs::dialog::Dialog::on_update(
            &mut dialog,
            DialogUpdate::SignIn(LoginEvent::Progress {
                message: "still waiting".to_owned(),
            }),
        );
    }
    fits_every_size(dialog);
}

#[test]
fn survives_any_input() {
    let ui = UiTheme::for_tests();
    survives_random_input(&ui, || LoginDialog::open(ui.clone(), options(), None));
}
