# A formula for a tap of your own. `url` and `sha256` are those of the source archive that
# you publish: `python -m build --sdist`, then `sha256sum dist/sprintlog-0.2.0.tar.gz`.
class Sprintlog < Formula
  include Language::Python::Virtualenv

  desc "Append-only event log for coding-agent loops"
  homepage "https://example.invalid/sprintlog"
  url "https://example.invalid/sprintlog-0.2.0.tar.gz"
  version "0.2.0"
  sha256 "0000000000000000000000000000000000000000000000000000000000000000"
  license "Apache-2.0"

  depends_on "git"
  depends_on "python@3.13"

  def install
    virtualenv_create(libexec, "python3.13")
    system libexec/"bin/python", "-m", "pip", "--verbose", "install", buildpath
    bin.install_symlink libexec/"bin/sprintlog"
    man1.install_symlink libexec/"share/man/man1/sprintlog.1"
  end

  test do
    system bin/"sprintlog", "demo", "played"
    assert_match "sound", shell_output("cd played && #{bin}/sprintlog verify")
  end
end
