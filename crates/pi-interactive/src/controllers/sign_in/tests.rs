//! Tests of sign-in: prompts, cancellation and what follows.

use futures_util::FutureExt as _;
use pi_views::test_support::model;
use pretty_assertions::assert_eq;
use tokio::sync::mpsc;

use super::*;
use crate::app::command::listed;
use crate::app::context::TestContext;
use crate::app::message::AppMsg;

struct SignInTester {
    sign_in: SignInController,
    app: TestContext,
    posted: mpsc::Receiver<AppMsg>,
}

/// What a sign-in needs to run.
struct StartedSignIn {
    interaction: Box<dyn LoginInteraction>,
    cancel: CancellationToken,
}

impl SignInTester {
    fn new() -> Self {
        let (handle, posted) = AppHandle::new();
        Self {
            sign_in: SignInController::new(handle),
            app: TestContext::default(),
            posted,
        }
    }

    fn send(&mut self, message: SignInMsg) -> Vec<AppCommand> {
        self.sign_in.update(message, &self.app.context())
    }

    fn start(&mut self, provider: &str) -> StartedSignIn {
        let mut commands = self.send(SignInMsg::Start {
            provider: provider.to_owned(),
            kind: AuthKind::OAuth,
        });
        match commands.pop() {
            Some(AppCommand::Session(SessionCommand::SignIn {
                interaction,
                cancel,
                ..
            })) => StartedSignIn {
                interaction,
                cancel,
            },
            other => panic!("{other:?}"),
        }
    }

    /// Delivers a message that the sign-in posted.
    fn deliver_posted(&mut self) -> Vec<AppCommand> {
        match self.posted.try_recv() {
            Ok(AppMsg::SignIn(message)) => self.send(message),
            other => panic!("{other:?}"),
        }
    }
}

fn secret() -> LoginPrompt {
    LoginPrompt::Secret {
        message: "Key".to_owned(),
    }
}

fn ended(provider: &str, result: Result<(), &str>) -> SignInMsg {
    SignInMsg::Ended {
        provider: provider.to_owned(),
        result: result.map_err(str::to_owned),
    }
}

#[tokio::test]
async fn the_answer_reaches_the_flow() {
    let mut tester = SignInTester::new();
    let started = tester.start("anthropic");
    let prompt = secret();
    let asking = tokio::spawn(async move { started.interaction.prompt(prompt).await });
    tokio::task::yield_now().await;
    let commands = tester.deliver_posted();
    assert!(matches!(
        commands[..],
        [AppCommand::UpdateDialog(DialogUpdate::SignInPrompt(_))]
    ));
    assert!(tester.send(SignInMsg::Answer("code".to_owned())).is_empty());
    assert_eq!(asking.await.unwrap().unwrap(), "code");
}

#[tokio::test]
async fn canceling_stops_the_flow_and_its_prompt() {
    let mut tester = SignInTester::new();
    let StartedSignIn {
        interaction,
        cancel,
    } = tester.start("anthropic");
    let asking = tokio::spawn(async move { interaction.prompt(secret()).await });
    tokio::task::yield_now().await;
    tester.deliver_posted();
    tester.send(SignInMsg::Cancel);
    assert!(cancel.is_cancelled());
    assert!(asking.await.unwrap().is_err());
    let late = tester.send(ended("anthropic", Err("canceled")));
    assert!(late.is_empty(), "the dialog is closed already");
}

#[test]
fn a_canceled_sign_in_that_ends_late_does_not_end_the_next_one() {
    let mut tester = SignInTester::new();
    tester.start("anthropic");
    tester.send(SignInMsg::Cancel);
    let next = tester.start("openai");
    assert!(tester.send(ended("anthropic", Err("canceled"))).is_empty());
    assert!(!next.cancel.is_cancelled());
    let failed = tester.send(ended("openai", Err("denied")));
    assert!(matches!(
        &failed[..],
        [AppCommand::UpdateDialog(DialogUpdate::SignInEnded(Err(message)))] if message == "denied"
    ));
}

#[test]
fn signing_in_fetches_the_models_and_selects_the_default_if_there_is_none() {
    let mut tester = SignInTester::new();
    tester.start("anthropic");
    let commands = tester.send(ended("anthropic", Ok(())));
    assert_eq!(listed(&commands).last().unwrap(), "session RefreshModels");

    let default_id = pi_providers::builtin_provider("anthropic").unwrap();
    let default_id = default_id.default_model;
    let refreshed = || SignInMsg::ModelsRefreshed {
        provider: "anthropic".to_owned(),
        available: vec![
            model("openai", "a"),
            model("anthropic", "b"),
            model("anthropic", default_id),
        ],
    };
    let commands = tester.send(refreshed());
    let used = commands.iter().find_map(|command| match command {
        AppCommand::Send(AppMsg::Models(ModelMsg::Use { model, .. })) => Some(model),
        _ => None,
    });
    let used = used.unwrap();
    assert_eq!(
        (used.provider.as_str(), used.id.as_str()),
        ("anthropic", default_id)
    );

    tester.app.session.model = Some(model("openai", "a"));
    assert_eq!(
        listed(&tester.send(refreshed()))[..2],
        [
            "Info: Signed in to anthropic. The credential is stored in auth.json.",
            "Status(ModelChanged)"
        ]
    );
}

#[test]
fn a_key_that_cannot_be_stored_is_reported_in_the_dialog_and_afterwards() {
    let mut tester = SignInTester::new();
    let commands = tester.send(SignInMsg::KeyStored {
        provider: "anthropic".to_owned(),
        result: Err("disk full".to_owned()),
    });
    assert!(matches!(
        commands[0],
        AppCommand::UpdateDialog(DialogUpdate::SignInEnded(Err(_)))
    ));
    assert_eq!(listed(&commands)[1], "Error: disk full");
}

#[tokio::test]
async fn a_prompt_that_the_flow_drops_leaves_the_dialog() {
    let mut tester = SignInTester::new();
    let StartedSignIn { interaction, .. } = tester.start("anthropic");
    let mut asking = interaction.prompt(secret());
    assert!((&mut asking).now_or_never().is_none());
    tester.deliver_posted();
    // The answer arrived another way, for example in the browser.
    drop(asking);
    let commands = tester.deliver_posted();
    assert!(matches!(
        commands[..],
        [AppCommand::UpdateDialog(
            DialogUpdate::SignInPromptWithdrawn
        )]
    ));
}

#[tokio::test]
async fn a_prompt_without_a_sign_in_is_canceled() {
    let mut tester = SignInTester::new();
    let StartedSignIn { interaction, .. } = tester.start("anthropic");
    tester.send(SignInMsg::Cancel);
    let mut asking = interaction.prompt(secret());
    assert!((&mut asking).now_or_never().is_none());
    assert!(tester.deliver_posted().is_empty());
    assert!(matches!(asking.await, Err(OAuthError::Cancelled)));
}

#[test]
fn signing_out_updates_the_model_status() {
    let mut tester = SignInTester::new();
    let provider = || "anthropic".to_owned();
    let commands = tester.send(SignInMsg::SignOut {
        provider: provider(),
    });
    assert_eq!(listed(&commands), ["session SignOut"]);
    let commands = tester.send(SignInMsg::SignedOut {
        provider: provider(),
        result: Ok(()),
    });
    assert_eq!(
        listed(&commands),
        [
            "Status(ModelChanged)",
            "Status: Removed the stored credential for anthropic"
        ]
    );
    let commands = tester.send(SignInMsg::SignedOut {
        provider: provider(),
        result: Err("locked".to_owned()),
    });
    assert_eq!(listed(&commands), ["Error: locked"]);
}

#[test]
fn only_stored_credentials_can_be_removed() {
    let mut tester = SignInTester::new();
    let commands = tester.send(SignInMsg::LoginsListed(Ok(Vec::new())));
    assert_eq!(
        listed(&commands),
        ["Status: No stored credentials. Keys set in the environment cannot be removed here."]
    );
    let stored = vec![LoginOption {
        provider: "anthropic".to_owned(),
        name: "Anthropic".to_owned(),
        kind: AuthKind::OAuth,
        status: None,
        is_guided: true,
    }];
    let commands = tester.send(SignInMsg::LoginsListed(Ok(stored)));
    assert!(matches!(
        &commands[..],
        [AppCommand::Send(AppMsg::Dialogs(DialogMsg::Open(DialogRequest::Logout(stored))))]
            if stored.len() == 1
    ));
}
