{
  description = "Ahead-of-time compiler from TFLite and ExecuTorch models to native object files";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";

  outputs =
    { self, nixpkgs }:
    let
      systems = [
        "x86_64-linux"
        "aarch64-linux"
        "x86_64-darwin"
        "aarch64-darwin"
      ];
      forAll = function: nixpkgs.lib.genAttrs systems (system: function nixpkgs.legacyPackages.${system});
      cargo = builtins.fromTOML (builtins.readFile ./Cargo.toml);
    in
    {
      packages = forAll (pkgs: {
        default = pkgs.rustPlatform.buildRustPackage {
          pname = "modelc";
          version = cargo.workspace.package.version;
          src = self;
          cargoLock.lockFile = ./Cargo.lock;
          buildType = "dist";
          cargoBuildFlags = [
            "--bin"
            "modelc"
          ];
          env.MODELC_COMMIT = self.rev or "unknown";
          # The tests need cross compilers and emulators; `cargo xtask test` runs them.
          doCheck = false;
          postInstall = ''
            patchShebangs packaging
            cp $out/bin/modelc ./modelc
            packaging/tree.sh ./modelc $out
          '';
          meta = {
            description = cargo.package.description;
            license = with nixpkgs.lib.licenses; [
              mit
              asl20
            ];
            mainProgram = "modelc";
          };
        };
      });
    };
}
