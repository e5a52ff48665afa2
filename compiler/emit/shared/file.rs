//! The file of a library: sections, the segments that loaders map, and the tables of both.

use crate::emit::image::Image;
use object::elf::{self, FileHeader64, ProgramHeader64, SectionHeader64};
use object::{Endianness, U16, U32, U64, pod};

const LITTLE: Endianness = Endianness::Little;
/// Alignment of segments: the largest page of the supported processors.
const PAGE: u64 = 1 << 16;
/// Loadable segments, by the flags of their sections, in the order of the file.
const MAPPED: [(u64, u32); 3] =
    [(READ, elf::PF_R), (READ | elf::SHF_EXECINSTR as u64, elf::PF_R | elf::PF_X), (READ | elf::SHF_WRITE as u64, elf::PF_R | elf::PF_W)];
const READ: u64 = elf::SHF_ALLOC as u64;

/// A section.
pub struct Section {
    name: String,
    kind: u32,
    flags: u64,
    alignment: u64,
    contents: Image,
    bytes: u64,
    entry: u64,
    /// Name of the section that `sh_link` refers to.
    link: &'static str,
    info: u32,
    offset: u64,
    address: u64,
}

impl Section {
    /// Makes a section that is not loaded.
    pub fn new(name: impl Into<String>, kind: u32, alignment: u64, contents: impl Into<Image>) -> Self {
        let contents = contents.into();
        let bytes = contents.len();
        Self { name: name.into(), kind, flags: 0, alignment, contents, bytes, entry: 0, link: "", info: 0, offset: 0, address: 0 }
    }

    /// Makes the section loaded and read-only.
    pub fn loaded(self) -> Self {
        Self { flags: READ, ..self }
    }

    /// Makes the section loaded and executable.
    pub fn executable(self) -> Self {
        Self { flags: MAPPED[1].0, ..self }
    }

    /// Makes the section read-only after the loader has written it.
    pub fn relocated(self) -> Self {
        Self { flags: MAPPED[2].0, ..self }
    }

    /// Makes the section a table with entries of `entry` bytes that refers to another section.
    pub fn table(self, entry: u64, link: &'static str, info: u32) -> Self {
        Self { entry, link, info, ..self }
    }

    fn end(&self) -> u64 {
        self.offset + self.bytes
    }
}

/// A file under construction.
pub struct File {
    machine: u16,
    flags: u32,
    sections: Vec<Section>,
}

impl File {
    /// Makes an empty file for a machine and its flags.
    pub fn new(machine: u16, flags: u32) -> Self {
        Self { machine, flags, sections: vec![] }
    }

    /// Adds a section. Sections with equal flags must be added one after another.
    pub fn add(&mut self, section: Section) {
        self.sections.push(section);
    }

    /// Assigns file offsets and addresses to all sections.
    pub fn place(&mut self) {
        let names: Vec<u8> = [0].into_iter().chain(self.sections.iter().flat_map(|section| section.name.bytes().chain([0]))).collect();
        self.add(Section::new(NAMES, elf::SHT_STRTAB, 1, [&names[..], NAMES.as_bytes(), &[0]].concat()));
        let mut end = (size_of::<FileHeader64<Endianness>>() + self.segments().len() * size_of::<ProgramHeader64<Endianness>>()) as u64;
        for section in &mut self.sections {
            section.offset = end.next_multiple_of(section.alignment);
            end = section.end();
            // A page with parts of two segments is mapped twice, at different addresses.
            let segment = MAPPED.iter().position(|(flags, _)| *flags == section.flags);
            section.address = segment.map_or(0, |number| section.offset + number as u64 * PAGE);
        }
    }

    /// Returns the address of a section; 0 if there is none.
    pub fn address(&self, name: &str) -> u64 {
        self.find(name).map_or(0, |section| section.address)
    }

    /// Returns the size of a section; 0 if there is none.
    pub fn bytes(&self, name: &str) -> u64 {
        self.find(name).map_or(0, |section| section.bytes)
    }

    /// Returns the index of a section in the section table; 0 if there is none.
    pub fn number(&self, name: &str) -> u16 {
        self.sections.iter().position(|section| section.name == name).map_or(0, |position| position as u16 + 1)
    }

    fn find(&self, name: &str) -> Option<&Section> {
        self.sections.iter().find(|section| section.name == name)
    }

    /// Replaces the contents of a section by contents of the same size.
    pub fn fill(&mut self, name: &str, contents: Vec<u8>) {
        if let Some(section) = self.sections.iter_mut().find(|section| section.name == name) {
            debug_assert_eq!(section.bytes, contents.len() as u64, "{name}");
            section.contents = contents.into();
        }
    }

    /// Returns the whole file.
    pub fn image(&self) -> Image {
        let mut image = Image::from(pod::bytes_of(&self.header()).to_vec());
        for segment in self.segments() {
            image.push(pod::bytes_of(&segment).to_vec());
        }
        for section in &self.sections {
            image.push(vec![0; (section.offset - image.len()) as usize]);
            image.append(&section.contents);
        }
        image.push(vec![0; (self.table_offset() - image.len()) as usize]);
        image.push(vec![0; size_of::<SectionHeader64<Endianness>>()]);
        let mut name = 1;
        for section in &self.sections {
            image.push(pod::bytes_of(&self.section_header(section, name)).to_vec());
            name += section.name.len() as u32 + 1;
        }
        image
    }

    /// Returns the offset of the section table.
    fn table_offset(&self) -> u64 {
        self.sections.last().map_or(0, Section::end).next_multiple_of(8)
    }

    fn header(&self) -> FileHeader64<Endianness> {
        FileHeader64 {
            e_ident: elf::Ident {
                magic: elf::ELFMAG,
                class: elf::ELFCLASS64,
                data: elf::ELFDATA2LSB,
                version: elf::EV_CURRENT,
                os_abi: elf::ELFOSABI_NONE,
                abi_version: 0,
                padding: [0; 7],
            },
            e_type: U16::new(LITTLE, elf::ET_DYN),
            e_machine: U16::new(LITTLE, self.machine),
            e_version: U32::new(LITTLE, elf::EV_CURRENT.into()),
            e_entry: U64::new(LITTLE, 0),
            e_phoff: U64::new(LITTLE, size_of::<FileHeader64<Endianness>>() as u64),
            e_shoff: U64::new(LITTLE, self.table_offset()),
            e_flags: U32::new(LITTLE, self.flags),
            e_ehsize: U16::new(LITTLE, size_of::<FileHeader64<Endianness>>() as u16),
            e_phentsize: U16::new(LITTLE, size_of::<ProgramHeader64<Endianness>>() as u16),
            e_phnum: U16::new(LITTLE, self.segments().len() as u16),
            e_shentsize: U16::new(LITTLE, size_of::<SectionHeader64<Endianness>>() as u16),
            e_shnum: U16::new(LITTLE, self.sections.len() as u16 + 1),
            e_shstrndx: U16::new(LITTLE, self.number(NAMES)),
        }
    }

    fn section_header(&self, section: &Section, name: u32) -> SectionHeader64<Endianness> {
        SectionHeader64 {
            sh_name: U32::new(LITTLE, name),
            sh_type: U32::new(LITTLE, section.kind),
            sh_flags: U64::new(LITTLE, section.flags),
            sh_addr: U64::new(LITTLE, section.address),
            sh_offset: U64::new(LITTLE, section.offset),
            sh_size: U64::new(LITTLE, section.bytes),
            sh_link: U32::new(LITTLE, self.number(section.link).into()),
            sh_info: U32::new(LITTLE, section.info),
            sh_addralign: U64::new(LITTLE, section.alignment),
            sh_entsize: U64::new(LITTLE, section.entry),
        }
    }

    fn segments(&self) -> Vec<ProgramHeader64<Endianness>> {
        let mut list = Vec::new();
        for (flags, access) in MAPPED {
            // The first segment also holds the headers.
            let start = if flags == READ { Some(0) } else { None };
            list.extend(self.segment(elf::PT_LOAD, access, PAGE, start, |section| section.flags == flags));
        }
        let named = |name: &'static str| move |section: &Section| section.name == name;
        list.extend(self.segment(elf::PT_DYNAMIC, elf::PF_R | elf::PF_W, 8, None, named(".dynamic")));
        list.extend(self.segment(elf::PT_NOTE, elf::PF_R, 4, None, named(".note.gnu.build-id")));
        list.extend(self.segment(elf::PT_GNU_RELRO, elf::PF_R, 1, None, |section| section.flags == MAPPED[2].0));
        list.extend(self.segment(elf::PT_RISCV_ATTRIBUTES, elf::PF_R, 1, None, named(crate::emit::riscv::SECTION)));
        list.push(program_header(Segment { kind: elf::PT_GNU_STACK, access: elf::PF_R | elf::PF_W, alignment: 16 }, [0; 4]));
        list
    }

    /// Returns the segment of the selected sections, if there are any. A segment that the loader writes ends with a page, so that it can be
    /// made read-only.
    fn segment(
        &self,
        kind: u32,
        access: u32,
        alignment: u64,
        start: Option<u64>,
        is_in: impl Fn(&Section) -> bool,
    ) -> Option<ProgramHeader64<Endianness>> {
        let mut sections = self.sections.iter().filter(|section| is_in(section));
        let first = sections.next()?;
        let last = sections.next_back().unwrap_or(first);
        let start = start.unwrap_or(first.offset);
        let address = first.address - (first.offset - start);
        let bytes = last.end() - start;
        let is_relocated = first.flags == MAPPED[2].0 && kind != elf::PT_DYNAMIC;
        let in_memory = if is_relocated { (address + bytes).next_multiple_of(PAGE) - address } else { bytes };
        Some(program_header(Segment { kind, access, alignment }, [start, address, bytes, in_memory]))
    }
}

/// Name of the section with section names.
const NAMES: &str = ".shstrtab";

/// The properties of a segment.
#[derive(Clone, Copy)]
struct Segment {
    kind: u32,
    access: u32,
    alignment: u64,
}

fn program_header(
    Segment { kind, access, alignment }: Segment,
    [offset, address, in_file, in_memory]: [u64; 4],
) -> ProgramHeader64<Endianness> {
    ProgramHeader64 {
        p_type: U32::new(LITTLE, kind),
        p_flags: U32::new(LITTLE, access),
        p_offset: U64::new(LITTLE, offset),
        p_vaddr: U64::new(LITTLE, address),
        p_paddr: U64::new(LITTLE, address),
        p_filesz: U64::new(LITTLE, in_file),
        p_memsz: U64::new(LITTLE, in_memory),
        p_align: U64::new(LITTLE, alignment),
    }
}
