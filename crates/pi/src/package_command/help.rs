//! What the commands about packages say about themselves.

use super::request::CommandName;

const INSTALL: &str = "\
Usage: pi install SOURCE [-l]

Installs a package of extensions, skills, prompts and themes and adds it to the settings.

Sources:
  npm:NAME[@VERSION]          a package of your npm registry
  git:HOST/OWNER/REPO[@REF]   a git repository; https:// and ssh:// addresses work as well
  FOLDER or FILE              stays where it is

Options:
  -l, --local              In the project's settings, not the user's
  --check                  Only show what the package would bring and ask for
  --allow-scripts NAME     Run the install scripts of this npm package; none runs otherwise
  -a, --approve            Trust the project's own files for this command
  -na, --no-approve        Ignore the project's own files for this command
";

const REMOVE: &str = "\
Usage: pi remove SOURCE [-l]        (uninstall is the same)

Takes a package out of the settings and removes its files.

Options:
  -l, --local         From the project's settings, not the user's
  -a, --approve       Trust the project's own files for this command
  -na, --no-approve   Ignore the project's own files for this command
";

const UPDATE: &str = "\
Usage: pi update [SOURCE | pi] [OPTIONS]

Brings pi, packages or model catalogs up to date; without a word about it, pi alone.

Options:
  --self                 pi
  --extensions           All packages that are not pinned to a version
  --extension SOURCE     One package; `pi update SOURCE` is the same
  --models               The catalogs of models
  --all                  pi and all packages
  --force                Install pi's newest release even if it is this one
  -a, --approve          Trust the project's own files for this command
  -na, --no-approve      Ignore the project's own files for this command
";

const LIST: &str = "\
Usage: pi list

Shows the packages in the user's settings and in the project's.

Options:
  -a, --approve       Trust the project's own files for this command
  -na, --no-approve   Ignore the project's own files for this command
";

const CONFIG: &str = "\
Usage: pi config [-l]

Switches single extensions, skills, prompts and themes on and off, on the screen. It begins with the
user's settings; Tab changes to the project's.

Options:
  -l, --local         Begin with the project's settings
  -a, --approve       Trust the project's own files for this command
  -na, --no-approve   Ignore the project's own files for this command
";

/// Returns the help of a command.
pub(super) fn text(command: CommandName) -> &'static str {
    match command {
        CommandName::Install => INSTALL,
        CommandName::Remove => REMOVE,
        CommandName::Update => UPDATE,
        CommandName::List => LIST,
        CommandName::Config => CONFIG,
    }
}
