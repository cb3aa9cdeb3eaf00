//! Decisions about projects, saved and made.

use std::fs;
use std::path::{Path, PathBuf};

use pi_config::{
    AgentDir, ProjectAccess, ProjectChanges, ProjectTrustDefault, SavedTrust, SessionChoices,
    TrustChoice, TrustDecision, TrustError, TrustInputs, TrustStore, TrustUpdate, decide_trust,
    find_project_changes, requires_trust, trust_choices,
};
use pi_test_support::TempHome;
use pretty_assertions::assert_eq;

struct Setup {
    home: TempHome,
    root: PathBuf,
    agent_dir: AgentDir,
}

impl Setup {
    fn new() -> Self {
        let home = TempHome::new();
        let root = home.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("code/project/deep")).unwrap();
        let agent_dir = AgentDir::at(root.join("agent"));
        Self {
            home,
            root,
            agent_dir,
        }
    }

    fn project(&self) -> PathBuf {
        self.root.join("code/project")
    }

    fn store(&self) -> TrustStore {
        TrustStore::new(&self.agent_dir)
    }

    fn guarded(&self) -> &Self {
        fs::create_dir_all(self.project().join(".pi/extensions")).unwrap();
        self
    }

    fn decide(&self, cli: Option<bool>, default: ProjectTrustDefault) -> TrustDecision {
        let project = self.project();
        decide_trust(&TrustInputs {
            cwd: &project,
            home: Some(&self.root),
            agent_dir: &self.agent_dir,
            cli,
            default,
        })
        .unwrap()
    }
}

#[test]
fn the_nearest_decision_counts_and_the_file_is_sorted() {
    let setup = Setup::new();
    let project = setup.project();
    let store = setup.store();
    assert_eq!(store.nearest(&project).unwrap(), None);
    store
        .save(&[
            TrustUpdate::deny(project.join("deep")),
            TrustUpdate::trust(setup.root.join("code")),
        ])
        .unwrap();
    assert_eq!(
        setup.home.read("agent/trust.json"),
        format!(
            "{{\n  \"{root}/code\": true,\n  \"{root}/code/project/deep\": false\n}}\n",
            root = setup.root.display()
        )
    );
    assert_eq!(
        store.nearest(&project).unwrap(),
        Some(SavedTrust {
            dir: setup.root.join("code"),
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
        setup.root.join("code")
    );
}

#[test]
fn null_is_no_decision() {
    let setup = Setup::new();
    fs::create_dir(setup.agent_dir.path()).unwrap();
    setup.home.write(
        "agent/trust.json",
        format!(
            "\u{feff}{{\"{0}/code/project\": null, \"{0}/code\": false}}",
            setup.root.display()
        ),
    );
    let saved = setup.store().nearest(&setup.project()).unwrap().unwrap();
    assert_eq!(saved.dir, setup.root.join("code"));
}

#[test]
fn a_decision_is_made_in_order() {
    use ProjectAccess::{Denied, Trusted, Undecided};
    use ProjectTrustDefault::{Always, Ask, Never};
    use TrustDecision::Known;

    let setup = Setup::new();
    // Nothing to trust.
    assert_eq!(setup.decide(None, Never), Known(Trusted));
    assert_eq!(setup.decide(Some(false), Always), Known(Denied));
    // Something to trust, and nothing saved.
    setup.guarded();
    assert_eq!(setup.decide(None, Always), Known(Trusted));
    assert_eq!(setup.decide(None, Never), Known(Undecided));
    assert_eq!(setup.decide(Some(true), Never), Known(Trusted));
    let asked = setup.decide(None, Ask);
    assert_eq!(asked.access_without_prompt(), Undecided);
    assert_eq!(
        asked,
        TrustDecision::Prompt {
            choices: trust_choices(&setup.project(), SessionChoices::Offered)
        }
    );
    // Something saved.
    let store = setup.store();
    store.save(&[TrustUpdate::deny(setup.project())]).unwrap();
    assert_eq!(setup.decide(None, Always), Known(Denied));
    assert_eq!(setup.decide(Some(true), Ask), Known(Trusted));
    store.save(&[TrustUpdate::trust(setup.project())]).unwrap();
    assert_eq!(setup.decide(None, Never), Known(Trusted));
}

#[test]
fn a_refusal_holds_when_there_is_nothing_left_to_trust() {
    let setup = Setup::new();
    let store = setup.store();
    store.save(&[TrustUpdate::deny(setup.project())]).unwrap();
    assert_eq!(
        setup.decide(None, ProjectTrustDefault::Always),
        TrustDecision::Known(ProjectAccess::Denied)
    );
}

#[test]
fn each_choice_says_what_it_saves() {
    let setup = Setup::new();
    let project = setup.project();
    let parent = setup.root.join("code");
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

    let store = setup.store();
    for (choice, dir, access) in [
        (refuse, &project, ProjectAccess::Denied),
        (trust, &project, ProjectAccess::Trusted),
        (trust_parent, &parent, ProjectAccess::Trusted),
    ] {
        store.save(&choice.updates()).unwrap();
        let saved = store.nearest(&project).unwrap().unwrap();
        assert_eq!((&saved.dir, saved.access), (dir, access));
        assert_eq!(choice.access(), access);
    }
    assert_eq!(TrustChoice::TrustOnce.updates(), []);
    assert_eq!(TrustChoice::DenyOnce.updates(), []);
    assert_eq!(TrustChoice::DenyOnce.access(), ProjectAccess::Denied);
}

#[test]
fn some_files_need_trust_and_the_users_own_skills_do_not() {
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
        let setup = Setup::new();
        let file = setup.project().join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::File::create(&file).unwrap();
        assert_eq!(
            requires_trust(&setup.project(), Some(&setup.root)),
            needed,
            "{name}"
        );
    }
}

#[test]
fn a_file_that_cannot_be_read_is_an_error_and_stays() {
    let setup = Setup::new();
    setup.guarded();
    fs::create_dir(setup.agent_dir.path()).unwrap();
    for content in ["{", "[]", "{\"/x\": 1}", "{\"/x\": \"yes\"}"] {
        setup.home.write("agent/trust.json", content);
        let project = setup.project();
        let decision = decide_trust(&TrustInputs {
            cwd: &project,
            home: None,
            agent_dir: &setup.agent_dir,
            cli: None,
            default: ProjectTrustDefault::Always,
        });
        assert!(
            matches!(decision, Err(TrustError::Unreadable { .. })),
            "{content}"
        );
        let saved = setup.store().save(&[TrustUpdate::trust(&project)]);
        assert!(matches!(saved, Err(TrustError::Unreadable { .. })));
        assert_eq!(setup.home.read("agent/trust.json"), content);
    }
}

#[test]
fn writers_at_the_same_time_lose_nothing() {
    let setup = Setup::new();
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let setup = &setup;
            scope.spawn(move || {
                for index in 0..10 {
                    let update = TrustUpdate::trust(setup.root.join(format!("w{writer}-{index}")));
                    loop {
                        match setup.store().save(std::slice::from_ref(&update)) {
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
        serde_json::from_str(&setup.home.read("agent/trust.json")).unwrap();
    assert_eq!(saved.as_object().unwrap().len(), 40);
}

#[cfg(unix)]
#[test]
fn links_lead_to_the_real_dir_and_a_dangling_one_needs_trust() {
    let setup = Setup::new();
    let link = setup.root.join("link");
    std::os::unix::fs::symlink(setup.project(), &link).unwrap();
    setup.store().save(&[TrustUpdate::deny(&link)]).unwrap();
    assert_eq!(
        setup.store().nearest(&setup.project()).unwrap(),
        Some(SavedTrust {
            dir: setup.project(),
            access: ProjectAccess::Denied
        })
    );
    fs::create_dir(setup.project().join(".pi")).unwrap();
    std::os::unix::fs::symlink("/nowhere", setup.project().join(".pi/extensions")).unwrap();
    assert!(requires_trust(&setup.project(), None));
}

#[cfg(unix)]
#[test]
fn a_name_that_is_not_text_matches_nothing() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    let setup = Setup::new();
    let odd = setup.root.join(OsStr::from_bytes(b"bad-\xff"));
    fs::create_dir(&odd).unwrap();
    let lookalike = setup.root.join("bad-\u{fffd}");
    setup
        .store()
        .save(&[TrustUpdate::trust(&lookalike)])
        .unwrap();
    assert_eq!(setup.store().nearest(&odd).unwrap(), None);
    let saved = setup.store().save(&[TrustUpdate::trust(&odd)]);
    assert!(matches!(saved, Err(TrustError::NonUtf8Path { .. })));
}

#[test]
fn what_changed_in_a_project_since_its_last_use_is_named_once() {
    let setup = Setup::new();
    let look = || find_project_changes(&setup.agent_dir, &setup.project()).unwrap();
    let changed = || told(look());
    let write = |file: &str, content: &str| {
        setup.home.write(&format!("code/project/{file}"), content);
    };
    let none: [&str; 0] = [];
    assert_eq!(changed(), none, "nothing to remember");
    assert!(!setup.agent_dir.seen_projects().exists());
    write(".pi/settings.json", "{}");
    write(".pi/extensions/a.ts", "one");
    write(".pi/extensions/folder/index.ts", "two");
    write(".pi/extensions/folder/node_modules/x/index.js", "three");
    write(".agents/skills/s/SKILL.md", "four");
    write(".pi/themes/t.json", "{}");
    assert_eq!(changed(), none, "the first use");
    assert_eq!(changed(), none, "nothing changed");
    write(".pi/extensions/a.ts", "other");
    write(".pi/SYSTEM.md", "new");
    write(".pi/themes/t.json", "[]");
    write(".pi/extensions/folder/node_modules/x/index.js", "other");
    assert!(look().is_some(), "nobody heard of it");
    assert_eq!(changed(), [".pi/SYSTEM.md", ".pi/extensions/a.ts"]);
    assert_eq!(changed(), none, "it was told");
    fs::remove_file(setup.project().join(".pi/SYSTEM.md")).unwrap();
    assert_eq!(changed(), none, "what is gone does nothing");
    write(".pi/SYSTEM.md", "new");
    assert_eq!(changed(), [".pi/SYSTEM.md"]);
    let deep = setup.project().join("deep");
    assert!(
        find_project_changes(&setup.agent_dir, &deep)
            .unwrap()
            .is_none()
    );
}

/// Returns the names of changed files, as one who tells them and remembers that.
fn told(changes: Option<ProjectChanges>) -> Vec<String> {
    changes.map_or_else(Vec::new, |changes| {
        changes.mark_seen().unwrap();
        changes.files().to_vec()
    })
}

#[cfg(unix)]
#[test]
fn a_look_at_a_project_is_bounded_whatever_is_in_it() {
    let setup = Setup::new();
    let project = setup.guarded().project();
    let extensions = project.join(".pi/extensions");
    let large = fs::File::create(extensions.join("0-large.ts")).unwrap();
    large.set_len(1 << 40).unwrap();
    let pipe = std::process::Command::new("mkfifo")
        .arg(extensions.join("0-pipe.ts"))
        .status();
    assert!(pipe.unwrap().success());
    std::os::unix::fs::symlink("/", extensions.join("0-root")).unwrap();
    std::os::unix::fs::symlink("/dev/zero", extensions.join("0-zeros.ts")).unwrap();
    std::os::unix::fs::symlink("..", extensions.join("0-circle")).unwrap();
    for number in 0..600 {
        setup
            .home
            .write(&format!("code/project/.pi/extensions/{number}.ts"), "x");
    }
    let changed = || told(find_project_changes(&setup.agent_dir, &project).unwrap()).len();
    assert_eq!(changed(), 0);
    large.set_len(1 << 39).unwrap();
    std::os::unix::fs::symlink("/etc", extensions.join("0-other")).unwrap();
    assert_eq!(changed(), 2);
    // A record that was tampered with is made anew.
    let record = fs::read_dir(setup.agent_dir.seen_projects())
        .unwrap()
        .next();
    let mut record = fs::File::create(record.unwrap().unwrap().path()).unwrap();
    std::io::Write::write_all(&mut record, b"no record").unwrap();
    assert_eq!(changed(), 0);
    assert_eq!(changed(), 0);
}
