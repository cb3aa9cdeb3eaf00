use pi_ai::{AuthSource, LoginEvent, LoginPrompt};
use pretty_assertions::assert_eq;

use super::*;
use crate::dialogs::testing::{
    HOSTILE, Stage as Terminal, survives_every_size, withstands_anything,
};
use crate::intent::Secret;

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

fn stage(provider: Option<&str>) -> Terminal<Window<LoginDialog>> {
    let look = Look::for_tests();
    Terminal::new(&look, LoginDialog::open(look.clone(), options(), provider))
}

#[test]
fn a_key_is_typed_unseen_and_kept() {
    let mut stage = stage(None);
    insta::assert_snapshot!(stage.screen());
    stage.press("down enter");
    insta::assert_snapshot!(stage.screen());
    stage.press("'openrou enter");
    stage.press("'sk-typed-key");
    let screen = stage.screen();
    assert!(!screen.contains("sk-typed"), "{screen}");
    insta::assert_snapshot!(screen);
    stage.type_text("\x1b[200~\n more \x1b[201~");
    stage.press("enter");
    let intents = stage.intents();
    let key = Secret("sk-typed-keymore".to_owned());
    assert_eq!(
        intents,
        [Intent::StoreKey {
            provider: "openrouter".to_owned(),
            key
        }]
    );
    assert!(!format!("{intents:?}").contains("sk-typed"));
    assert!(stage.is_done());
}

#[test]
fn an_empty_key_is_not_kept() {
    let mut stage = stage(Some("openrouter"));
    stage.press("space enter");
    assert_eq!(stage.intents(), []);
    assert!(!stage.is_done());
    stage.press("escape");
    assert!(stage.is_done());
}

#[test]
fn escape_goes_back_to_the_first_question_then_leaves() {
    let mut stage = stage(None);
    stage.press("enter escape");
    assert!(stage.screen().contains("How do you want to sign in?"));
    stage.press("escape");
    assert!(stage.is_done());
    assert_eq!(stage.intents(), []);
}

#[test]
fn a_named_provider_goes_straight_on() {
    let mut stage = stage(Some("XAI"));
    assert_eq!(
        stage.intents(),
        [Intent::SignIn {
            provider: "xai".to_owned(),
            kind: AuthKind::OAuth,
        }]
    );
    assert!(stage.screen().contains("Sign in to xAI"));
}

#[test]
fn a_provider_with_two_ways_asks_which() {
    let mut stage = stage(Some("anthropic"));
    assert!(
        stage
            .screen()
            .contains("How do you want to sign in to Anthropic?")
    );
    stage.press("down enter");
    assert!(stage.screen().contains("API key of Anthropic"));
}

#[test]
fn an_unknown_name_is_searched_for_among_all() {
    let mut stage = stage(Some("router"));
    let screen = stage.screen();
    assert!(screen.contains("OpenRouter [API key]"), "{screen}");
    stage.press("escape");
    assert!(stage.is_done());
}

#[test]
fn a_key_that_needs_more_than_itself_is_asked_for_step_by_step() {
    let mut stage = stage(Some("amazon-bedrock"));
    assert_eq!(
        stage.intents(),
        [Intent::SignIn {
            provider: "amazon-bedrock".to_owned(),
            kind: AuthKind::ApiKey,
        }]
    );
    stage.feed(DialogNews::SignInPrompt(LoginPrompt::Secret {
        message: "API key, if there is one:".to_owned(),
    }));
    stage.press("enter");
    assert_eq!(stage.intents(), [Intent::AnswerSignIn(String::new())]);
}

fn signing_in() -> Terminal<Window<LoginDialog>> {
    let mut stage = stage(Some("xai"));
    stage.intents();
    stage
}

#[test]
fn the_page_opens_and_its_address_is_shown_whole() {
    let mut stage = signing_in();
    let url = format!(
        "https://accounts.x.ai/authorize?state={}",
        "a1b2".repeat(40)
    );
    stage.feed(DialogNews::SignIn(LoginEvent::AuthUrl {
        url: url.clone(),
        instructions: "Come back when you are done.".to_owned(),
    }));
    assert_eq!(stage.intents(), [Intent::OpenUrl(url.clone())]);
    let screen = stage.screen();
    let joined: String = screen.lines().map(str::trim).collect();
    assert!(joined.contains(&url), "{screen}");
    stage.press("ctrl+x");
    assert_eq!(stage.intents(), [Intent::CopyText(url)]);
}

#[test]
fn only_web_addresses_reach_the_browser() {
    for url in [
        "file:///etc/passwd",
        "javascript:alert(1)",
        "x-app://do",
        "\x1b]0;x\x07ftp://a",
    ] {
        let mut stage = signing_in();
        stage.feed(DialogNews::SignIn(LoginEvent::AuthUrl {
            url: url.to_owned(),
            instructions: String::new(),
        }));
        assert_eq!(stage.intents(), [], "{url}");
    }
}

#[test]
fn a_code_is_shown_and_questions_are_answered() {
    let mut stage = signing_in();
    stage.feed(DialogNews::SignIn(LoginEvent::DeviceCode {
        user_code: "WDJB-MJHT".to_owned(),
        verification_uri: "https://x.ai/device".to_owned(),
        interval_seconds: None,
        expires_in_seconds: None,
    }));
    stage.feed(DialogNews::SignInPrompt(LoginPrompt::ManualCode {
        message: "Paste what the page shows, should nothing happen:".to_owned(),
        placeholder: Some("code#state".to_owned()),
    }));
    insta::assert_snapshot!(stage.screen());
    stage.press("'abc enter");
    assert_eq!(stage.intents(), [Intent::AnswerSignIn("abc".to_owned())]);
    stage.feed(DialogNews::SignInPromptWithdrawn);
    stage.feed(DialogNews::SignInEnded(Ok(())));
    assert!(stage.is_done());
}

#[test]
fn enter_copies_the_code_and_opens_the_page() {
    let mut stage = signing_in();
    stage.feed(DialogNews::SignIn(LoginEvent::DeviceCode {
        user_code: "WDJB-MJHT".to_owned(),
        verification_uri: "https://x.ai/device".to_owned(),
        interval_seconds: None,
        expires_in_seconds: None,
    }));
    let screen = stage.screen();
    assert!(
        screen.contains("copy the code and open the page"),
        "{screen}"
    );
    stage.press("enter");
    assert_eq!(
        stage.intents(),
        [
            Intent::CopyText("WDJB-MJHT".to_owned()),
            Intent::OpenUrl("https://x.ai/device".to_owned()),
        ]
    );
}

#[test]
fn a_choice_is_answered_with_its_id() {
    let mut stage = signing_in();
    stage.feed(DialogNews::SignInPrompt(LoginPrompt::Select {
        message: "Which account?".to_owned(),
        choices: vec![
            pi_ai::LoginChoice {
                id: "work",
                label: "Work".to_owned(),
            },
            pi_ai::LoginChoice {
                id: "home",
                label: "Home".to_owned(),
            },
        ],
    }));
    stage.press("down enter");
    assert_eq!(stage.intents(), [Intent::AnswerSignIn("home".to_owned())]);
}

#[test]
fn a_failure_stays_to_be_read() {
    let mut stage = signing_in();
    stage.feed(DialogNews::SignInEnded(Err(
        "the code\x07 is too old".to_owned()
    )));
    let screen = stage.screen();
    assert!(
        screen.contains("It failed: the code is too old"),
        "{screen}"
    );
    stage.press("escape");
    assert_eq!(stage.intents(), []);
    assert!(stage.is_done());
}

#[test]
fn giving_up_says_so() {
    let mut stage = signing_in();
    stage.press("ctrl+c");
    assert_eq!(stage.intents(), [Intent::CancelSignIn]);
    assert!(stage.is_done());
}

#[test]
fn signing_out_names_the_provider() {
    let look = Look::for_tests();
    let stored = vec![options().remove(0)];
    let mut stage = Terminal::new(&look, LogoutDialog::open(look.clone(), stored));
    assert!(stage.screen().contains("Anthropic · set up"));
    stage.press("enter");
    assert_eq!(
        stage.intents(),
        [Intent::SignOut {
            provider: "anthropic".to_owned()
        }]
    );
}

#[test]
fn what_a_provider_sends_cannot_write_on_the_screen() {
    let look = Look::for_tests();
    look.change(|appearance| appearance.capabilities.hyperlinks = true);
    let dialog = LoginDialog::open(look.clone(), options(), Some("xai"));
    let mut stage = Terminal::new(&look, dialog);
    stage.feed(DialogNews::SignIn(LoginEvent::AuthUrl {
        url: format!("https://x.ai/{HOSTILE}"),
        instructions: HOSTILE.to_owned(),
    }));
    stage.feed(DialogNews::SignIn(LoginEvent::Progress {
        message: HOSTILE.to_owned(),
    }));
    insta::assert_snapshot!(stage.screen());
}

#[test]
fn every_stage_fits_any_terminal() {
    let look = Look::for_tests();
    for provider in [
        None,
        Some("router"),
        Some("openrouter"),
        Some("amazon-bedrock"),
    ] {
        survives_every_size(LoginDialog::open(look.clone(), options(), provider));
    }
    let mut dialog = LoginDialog::open(look, options(), Some("xai"));
    for _ in 0..30 {
        crate::dialog::Dialog::feed(
            &mut dialog,
            DialogNews::SignIn(LoginEvent::Progress {
                message: "still waiting".to_owned(),
            }),
        );
    }
    survives_every_size(dialog);
}

#[test]
fn no_key_and_no_click_breaks_it() {
    let look = Look::for_tests();
    withstands_anything(&look, || LoginDialog::open(look.clone(), options(), None));
}
