# Rules for Make: include this file, then compile each model with
#   $(eval $(call modelc_model,NAME,MODEL[,OPTIONS]))
# This makes $(BUILD)/NAME.o and $(BUILD)/NAME.h, and $(BUILD)/NAME_test.c with the option `--emit test`. The names in C begin with NAME.
#   MODELC         the compiler [modelc]
#   BUILD          where everything made is put [build]
#   MODELC_TARGET  the machine [what $(CC) makes code for]
# A model is compiled again when a file that modelc read changes.
MODELC ?= modelc
BUILD  ?= build
MODELC_TARGET ?= $(shell $(CC) -dumpmachine)

# The header comes with the object, and keeps its time where it stays the same: what includes it is then not compiled again.
define modelc_model
$(BUILD)/$(1).o: $(2) $(wildcard $(MODELC))
	@mkdir -p $(BUILD)
	$(MODELC) $(2) -o $(BUILD)/$(1).o --name $(1) --target $(MODELC_TARGET) --depfile $(BUILD)/$(1).d --quiet $(3)

$(BUILD)/$(1).h: $(BUILD)/$(1).o ;

-include $(BUILD)/$(1).d
endef
