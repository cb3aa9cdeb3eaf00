//! Trust decisions and saved trust.

use std::fs;
use std::path::Path;

use pi_config::{
    SessionChoices, TrustDecision, TrustError, TrustInputs, TrustUpdate, decide_trust,
    requires_trust, trust_choices,
};
use pi_protocol::settings::ProjectTrustDefault;
use pi_protocol::{ProjectAccess, SavedTrust, TrustChoice};
use pretty_assertions::assert_eq;

use crate::trust_test_env::TrustTestEnv;

#[test]
fn nearest_decision_applies_and_file_is_sorted() {
    let env = TrustTestEnv::new();
    let project = env.project();
    let store = env.store();
    assert_eq!(store.nearest(&project).unwrap(), None);
    store
        .save(&[
            TrustUpdate::deny(project.join("deep")),
            TrustUpdate::trust(env.root.join("code")),
        ])
        .unwrap();
    assert_eq!(
        env.home.read("agent/trust.json"),
        format!(
            "{{\n  \"{root}/code\": true,\n  \"{root}/code/project/deep\": false\n}}\n",
            root = env.root.display()
        )
    );
    assert_eq!(
        store.nearest(&project).unwrap(),
        Some(SavedTrust {
            dir: env.root.join("code"),
            access: ProjectAccess::Trusted
        })
    );
    assert_eq!(
        store
            .nearest(&project.join("deep"))
            .unwrap()
            .unwrap()
            .access,
        ProjectAccess::Denied
    );
    store
        .save(&[TrustUpdate::forget(project.join("deep"))])
        .unwrap();
    assert_eq!(
        store.nearest(&project.join("deep")).unwrap().unwrap().dir,
        env.root.join("code")
    );
}

#[test]
fn null_is_not_a_decision() {
    let env = TrustTestEnv::new();
    fs::create_dir(env.agent_dir.path()).unwrap();
    env.home.write(
        "agent/trust.json",
        format!(
            "\u{feff}{{\"{0}/code/project\": null, \"{0}/code\": false}}",
            env.root.display()
        ),
    );
    let saved = env.store().nearest(&env.project()).unwrap().unwrap();
    assert_eq!(saved.dir, env.root.join("code"));
}

#[test]
fn decision_precedence() {
    use ProjectAccess::{Denied, Trusted, Undecided};
    use ProjectTrustDefault::{Always, Ask, Never};
    use TrustDecision::Known;

    let env = TrustTestEnv::new();
    // Nothing requires trust.
    assert_eq!(env.decide(None, Never), Known(Trusted));
    assert_eq!(env.decide(Some(false), Always), Known(Denied));
    // Trust is required, and no decision is saved.
    env.guarded();
    assert_eq!(env.decide(None, Always), Known(Trusted));
    assert_eq!(env.decide(None, Never), Known(Undecided));
    assert_eq!(env.decide(Some(true), Never), Known(Trusted));
    let decision = env.decide(None, Ask);
    assert_eq!(decision.access_without_prompt(), Undecided);
    assert_eq!(
        decision,
        TrustDecision::Prompt {
            choices: trust_choices(&env.project(), SessionChoices::Offered),
            changes: Vec::new(),
        }
    );
    // A decision is saved.
    let store = env.store();
    store.save(&[TrustUpdate::deny(env.project())]).unwrap();
    assert_eq!(env.decide(None, Always), Known(Denied));
    assert_eq!(env.decide(Some(true), Ask), Known(Trusted));
    store.save(&[TrustUpdate::trust(env.project())]).unwrap();
    assert_eq!(env.decide(None, Never), Known(Trusted));
}

#[test]
fn denial_applies_even_if_nothing_requires_trust() {
    let env = TrustTestEnv::new();
    let store = env.store();
    store.save(&[TrustUpdate::deny(env.project())]).unwrap();
    assert_eq!(
        env.decide(None, ProjectTrustDefault::Always),
        TrustDecision::Known(ProjectAccess::Denied)
    );
}

#[test]
fn choices_and_their_updates() {
    let env = TrustTestEnv::new();
    let project = env.project();
    let parent = env.root.join("code");
    let trust = TrustChoice::Trust {
        dir: project.clone(),
    };
    let trust_parent = TrustChoice::TrustParent {
        parent: parent.clone(),
        dir: project.clone(),
    };
    let refuse = TrustChoice::Deny {
        dir: project.clone(),
    };
    assert_eq!(
        trust_choices(&project, SessionChoices::Offered),
        [
            trust.clone(),
            trust_parent.clone(),
            TrustChoice::TrustOnce,
            refuse.clone(),
            TrustChoice::DenyOnce,
        ]
    );
    assert_eq!(
        trust_choices(&project, SessionChoices::Omitted),
        [trust.clone(), trust_parent.clone(), refuse.clone()]
    );
    assert_eq!(
        trust_choices(Path::new("/"), SessionChoices::Omitted).len(),
        2
    );

    let store = env.store();
    for (choice, dir, access) in [
        (refuse, &project, ProjectAccess::Denied),
        (trust, &project, ProjectAccess::Trusted),
        (trust_parent, &parent, ProjectAccess::Trusted),
    ] {
        store.save(&TrustUpdate::of_choice(&choice)).unwrap();
        let saved = store.nearest(&project).unwrap().unwrap();
        assert_eq!((&saved.dir, saved.access), (dir, access));
        assert_eq!(choice.access(), access);
    }
    assert_eq!(TrustUpdate::of_choice(&TrustChoice::TrustOnce), []);
    assert_eq!(TrustUpdate::of_choice(&TrustChoice::DenyOnce), []);
    assert_eq!(TrustChoice::DenyOnce.access(), ProjectAccess::Denied);
}

#[test]
fn user_skills_do_not_require_trust() {
    for (name, needed) in [
        (".pi/settings.json", true),
        (".pi/extensions/x.ts", true),
        (".pi/skills/s/SKILL.md", true),
        (".pi/prompts/p.md", true),
        (".pi/themes/t.json", true),
        (".pi/SYSTEM.md", true),
        (".pi/APPEND_SYSTEM.md", true),
        (".agents/skills/s/SKILL.md", true),
        ("../.agents/skills/s/SKILL.md", true),
        ("../../.agents/skills/s/SKILL.md", false),
        (".pi/notes.md", false),
        ("AGENTS.md", false),
        (".agents/notes.md", false),
    ] {
        let env = TrustTestEnv::new();
        let file = env.project().join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::File::create(&file).unwrap();
        assert_eq!(
            requires_trust(&env.project(), Some(&env.root)),
            needed,
            "{name}"
        );
    }
}

#[test]
fn malformed_file_is_an_error_and_unchanged() {
    let env = TrustTestEnv::new();
    env.guarded();
    fs::create_dir(env.agent_dir.path()).unwrap();
    for content in ["{", "[]", "{\"/x\": 1}", "{\"/x\": \"yes\"}"] {
        env.home.write("agent/trust.json", content);
        let project = env.project();
        let decision = decide_trust(&TrustInputs {
            cwd: &project,
            home: None,
            agent_dir: &env.agent_dir,
            cli: None,
            default: ProjectTrustDefault::Always,
            state: &std::sync::OnceLock::new(),
        });
        assert!(
            matches!(decision, Err(TrustError::Unreadable { .. })),
            "{content}"
        );
        let saved = env.store().save(&[TrustUpdate::trust(&project)]);
        assert!(matches!(saved, Err(TrustError::Unreadable { .. })));
        assert_eq!(env.home.read("agent/trust.json"), content);
    }
}

#[test]
fn concurrent_writers_lose_nothing() {
    let env = TrustTestEnv::new();
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let env = &env;
            scope.spawn(move || {
                for index in 0..10 {
                    let update = TrustUpdate::trust(env.root.join(format!("w{writer}-{index}")));
                    loop {
                        match env.store().save(std::slice::from_ref(&update)) {
                            Ok(()) => break,
                            Err(TrustError::Locked { .. }) => {}
                            Err(error) => panic!("{error}"),
                        }
                    }
                }
            });
        }
    });
    let saved: serde_json::Value =
        serde_json::from_str(&env.home.read("agent/trust.json")).unwrap();
    assert_eq!(saved.as_object().unwrap().len(), 40);
}

#[cfg(unix)]
#[test]
fn symlinks_are_resolved_and_dangling_ones_require_trust() {
    let env = TrustTestEnv::new();
    let link = env.root.join("link");
    std::os::unix::fs::symlink(env.project(), &link).unwrap();
    env.store().save(&[TrustUpdate::deny(&link)]).unwrap();
    assert_eq!(
        env.store().nearest(&env.project()).unwrap(),
        Some(SavedTrust {
            dir: env.project(),
            access: ProjectAccess::Denied
        })
    );
    fs::create_dir(env.project().join(".pi")).unwrap();
    std::os::unix::fs::symlink("/nowhere", env.project().join(".pi/extensions")).unwrap();
    assert!(requires_trust(&env.project(), None));
}

#[cfg(unix)]
#[test]
fn non_utf8_path_matches_nothing() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    let env = TrustTestEnv::new();
    let odd = env.root.join(OsStr::from_bytes(b"bad-\xff"));
    fs::create_dir(&odd).unwrap();
    let lookalike = env.root.join("bad-\u{fffd}");
    env.store().save(&[TrustUpdate::trust(&lookalike)]).unwrap();
    assert_eq!(env.store().nearest(&odd).unwrap(), None);
    let saved = env.store().save(&[TrustUpdate::trust(&odd)]);
    assert!(matches!(saved, Err(TrustError::NonUtf8Path { .. })));
}
