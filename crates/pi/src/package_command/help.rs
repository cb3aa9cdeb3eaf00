//! Help texts of the package commands.

use super::request::CommandName;

const INSTALL: &str = "\
Usage: pi install SOURCE [-l]

Install a package of extensions, skills, prompts and themes and add it to the settings.

Sources:
  npm:NAME[@VERSION]          Package from your npm registry
  git:HOST/OWNER/REPO[@REF]   Git repository; https:// and ssh:// URLs also work
  DIRECTORY or FILE           Local path, used in place

Options:
  -l, --local              Use the project settings instead of the user settings
  --check                  Show the content and requirements without installing
  --allow-scripts NAME     Run the install scripts of this npm package; repeatable
  -a, --approve            Trust this project's .pi files for this command
  -na, --no-approve        Ignore this project's .pi files for this command
";

const REMOVE: &str = "\
Usage: pi remove SOURCE [-l]
       pi uninstall SOURCE [-l]

Remove a package from the settings and from disk.

Options:
  -l, --local         Use the project settings instead of the user settings
  -a, --approve       Trust this project's .pi files for this command
  -na, --no-approve   Ignore this project's .pi files for this command
";

const UPDATE: &str = "\
Usage: pi update [SOURCE | pi] [OPTIONS]

Update pi, packages or model catalogs. Without arguments, update pi.

Options:
  --self                 Update pi
  --extensions           Update all packages that are not pinned to a version
  --extension SOURCE     Update one package; same as pi update SOURCE
  --models               Update the model catalogs
  --all                  Update pi and all packages
  --force                Reinstall the latest release of pi
  -a, --approve          Trust this project's .pi files for this command
  -na, --no-approve      Ignore this project's .pi files for this command
";

const LIST: &str = "\
Usage: pi list

List the packages in the user and project settings.

Options:
  -a, --approve       Trust this project's .pi files for this command
  -na, --no-approve   Ignore this project's .pi files for this command
";

const CONFIG: &str = "\
Usage: pi config [-l]

Enable and disable single extensions, skills, prompts and themes. Starts with the user settings; Tab
switches to the project settings.

Options:
  -l, --local         Start with the project settings
  -a, --approve       Trust this project's .pi files for this command
  -na, --no-approve   Ignore this project's .pi files for this command
";

pub(super) fn text(command: CommandName) -> &'static str {
    match command {
        CommandName::Install => INSTALL,
        CommandName::Remove => REMOVE,
        CommandName::Update => UPDATE,
        CommandName::List => LIST,
        CommandName::Config => CONFIG,
    }
}
