# harm: memory layout and segments are made as no compiler expects them
# engines: native
# expect: failed/denied_syscall
# never: returned
# repeat: 8
import ctypes
calls = (("personality read implies exec", 135, 0x0400000),
         ("personality no randomisation", 135, 0x0040000),
         ("modify_ldt", 154, 1, 0, 16),
         ("modify_ldt read", 154, 0, 0, 16),
         ("remap_file_pages", 216, 0, 0, 0, 0, 0),
         ("migrate_pages", 256, 0, 0, 0, 0),
         ("move_pages", 279, 0, 0, 0, 0, 0, 0),
         ("map_shadow_stack", 453, 0, 4096, 0))
name, *arguments = calls[SEED - 1]
ctypes.CDLL(None).syscall(*arguments)
print(name, "returned")
